import type { SignerAdapter } from "@signpost/core";
import { assertOptions, createAdapter, readMilliseconds, type OptionNames } from "@signpost/core/adapter";
import { CONNECTION_OPTIONS, readConnectionOptions, type AzureKeyVaultConnectionOptions } from "./client.ts";
import { openNamedKey, type AzureKeyVaultSignerOptions } from "./open.ts";
import { parseKeyUri } from "./uri.ts";

/** Options of `azureKeyVault`, for all keys that it opens. */
export interface AzureKeyVaultAdapterOptions
  extends AzureKeyVaultConnectionOptions, Pick<AzureKeyVaultSignerOptions, "openDeadlineMs"> {}

const OPTIONS: OptionNames<AzureKeyVaultAdapterOptions> = { ...CONNECTION_OPTIONS, openDeadlineMs: true };

/**
 * Opens key URIs: `azurekms:///op-signing.vault.azure.net/keys/id-token/VERSION`. Without a version, the latest is resolved
 * once. The forms of sigstore (`azurekms://HOST/KEY`) and of step-ca (`azurekms:name=KEY;vault=NAME`) are read too. Without a
 * `credential`, `@azure/identity` must be installed.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another.
 * @example
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { azureKeyVault } from "@signpost/azure-key-vault";
 *
 * const signer = await openSigner("azurekms:///op-signing.vault.azure.net/keys/id-token", [azureKeyVault()]);
 * ```
 */
export function azureKeyVault(options: AzureKeyVaultAdapterOptions = {}): SignerAdapter {
  assertOptions("options", options, OPTIONS);
  readConnectionOptions(options);
  if (options.openDeadlineMs !== undefined) readMilliseconds("openDeadlineMs", options.openDeadlineMs);
  return createAdapter("azurekms", async (uri, { policy, signal }) =>
    openNamedKey(parseKeyUri(uri), { ...options, policy, signal }),
  );
}
