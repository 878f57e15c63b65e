export type { AttachOptions } from "./attach-options.ts";
export type {
  ExternalSigningKeyClassLike,
  OidcProviderClassLike,
  OidcProviderContextLike,
  OidcProviderErrorsLike,
  OidcProviderLike,
  OidcProviderSigningLike,
} from "./host.ts";
export { mountJwks } from "./mount-jwks.ts";
export type { JwksEndpointLike, MountJwksOptions } from "./mount-jwks.ts";
export type { ResourceServerInfoFunction } from "./resource-servers.ts";
export { signpostKeys } from "./signpost-keys.ts";
export type { SignpostKeys, SignpostKeysOptions } from "./signpost-keys.ts";
