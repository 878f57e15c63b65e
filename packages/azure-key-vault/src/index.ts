export { azureKeyVault } from "./adapter.ts";
export type { AzureKeyVaultAdapterOptions } from "./adapter.ts";
export type {
  AzureKeyVaultAccessToken,
  AzureKeyVaultApi,
  AzureKeyVaultCallOptions,
  AzureKeyVaultCredentialLike,
  AzureKeyVaultDispatcherLike,
  AzureKeyVaultGetKeyInput,
  AzureKeyVaultHttpRequest,
  AzureKeyVaultHttpResponse,
  AzureKeyVaultListInput,
  AzureKeyVaultSignInput,
  AzureKeyVaultTokenFunction,
  AzureKeyVaultTokenOptions,
} from "./api.ts";
export type { AzureKeyVaultConnectionOptions, AzureKeyVaultTlsOptions } from "./client.ts";
export { openAzureKeyVaultSigner } from "./open.ts";
export type { AzureKeyVaultSignerOptions } from "./open.ts";
export { azureKeyVaultKeys } from "./versions.ts";
export type { AzureKeyVaultKeys, AzureKeyVaultKeysOptions, AzureKeyVaultKeyVersion } from "./versions.ts";
