export type {
  ExternalSigningKeyClassLike,
  OidcProviderContextLike,
  OidcProviderErrorsLike,
  OidcProviderLike,
} from "./host.ts";
export { mountJwks } from "./mount-jwks.ts";
export type { JwksEndpointLike } from "./mount-jwks.ts";
export { signpostKeys } from "./signpost-keys.ts";
export type { SignpostKeys, SignpostKeysOptions } from "./signpost-keys.ts";
