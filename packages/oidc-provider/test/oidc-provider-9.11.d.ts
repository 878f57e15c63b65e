/** The oldest host of the peer range, under a separate name. */
declare module "oidc-provider-9.11" {
  export * from "oidc-provider";
}
