// The part of the optional peer dependency that is used, so that the package compiles without it.
declare module "@azure/identity" {
  export const DefaultAzureCredential: new (options: {
    readonly processTimeoutInMs: number;
  }) => import("./api.ts").AzureKeyVaultCredentialLike;
}
