export { vaultTransit } from "./adapter.ts";
export type { VaultTransitAdapterOptions } from "./adapter.ts";
export type { VaultTransitDispatcherLike, VaultTransitHttpRequest, VaultTransitHttpResponse } from "./api.ts";
export type {
  VaultTransitAppRoleAuth,
  VaultTransitAuth,
  VaultTransitKubernetesAuth,
  VaultTransitNoAuth,
  VaultTransitTokenAuth,
  VaultTransitTokenFileAuth,
} from "./auth.ts";
export type { VaultTransitConnectionOptions, VaultTransitTlsOptions } from "./client.ts";
export { openVaultTransitSigner } from "./open.ts";
export type { VaultTransitSignerOptions } from "./open.ts";
export { vaultTransitKeys } from "./versions.ts";
export type { VaultTransitKeys, VaultTransitKeysOptions, VaultTransitKeyVersion } from "./versions.ts";
