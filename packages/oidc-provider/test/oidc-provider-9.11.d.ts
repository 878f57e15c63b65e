/** The oldest host of the peer range, under a name of its own. */
declare module "oidc-provider-9.11" {
  export * from "oidc-provider";
}
