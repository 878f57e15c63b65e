import type { SignerAdapter } from "@signpost/core";
import { assertOptions, createAdapter, readMilliseconds, type OptionNames } from "@signpost/core/adapter";
import { checkConnectionOptions, CONNECTION_OPTIONS, type VaultTransitConnectionOptions } from "./client.ts";
import { openVaultTransitSigner, type VaultTransitSignerOptions } from "./open.ts";
import { parseKeyUri } from "./uri.ts";

/** Options of `vaultTransit`, for all keys that it opens. */
export interface VaultTransitAdapterOptions
  extends VaultTransitConnectionOptions, Pick<VaultTransitSignerOptions, "openDeadlineMs"> {}

const OPTIONS: OptionNames<VaultTransitAdapterOptions> = { ...CONNECTION_OPTIONS, openDeadlineMs: true };

/**
 * Opens key URIs: `vault:///transit/keys/op?version=3`. The last `/keys/` divides the mount from the key. Without a version,
 * the latest is resolved once. A URI contains neither an address nor a token: these come from the options, which apply to
 * all keys, or from the environment.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another.
 * @example
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { vaultTransit } from "@signpost/vault-transit";
 *
 * const signer = await openSigner("vault:///transit/keys/op?version=3", [vaultTransit()]);
 * ```
 */
export function vaultTransit(options: VaultTransitAdapterOptions = {}): SignerAdapter {
  assertOptions("options", options, OPTIONS);
  checkConnectionOptions(options);
  if (options.openDeadlineMs !== undefined) readMilliseconds("openDeadlineMs", options.openDeadlineMs);
  return createAdapter("vault", async (uri, { policy, signal }) =>
    openVaultTransitSigner({ ...options, ...parseKeyUri(uri), policy, signal }),
  );
}
