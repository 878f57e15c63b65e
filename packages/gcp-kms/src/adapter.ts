import type { SignerAdapter } from "@signpost/core";
import { assertOptions, createAdapter, type OptionNames } from "@signpost/core/adapter";
import { readConnectionOptions, type GcpKmsConnectionOptions } from "./client.ts";
import { openGcpKmsSigner, planCalls, type GcpKmsSignerOptions } from "./open.ts";
import { parseKeyUri } from "./uri.ts";

/** Options of `gcpKms`, for all versions that it opens. */
export interface GcpKmsAdapterOptions
  extends GcpKmsConnectionOptions, Pick<GcpKmsSignerOptions, "callTimeoutMs" | "openDeadlineMs"> {}

const OPTIONS: OptionNames<GcpKmsAdapterOptions> = {
  client: true,
  endpoint: true,
  transport: true,
  callTimeoutMs: true,
  openDeadlineMs: true,
};

/**
 * Opens key URIs: `gcpkms://` and the resource name of a version. The options apply to all keys.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another.
 * @example
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { gcpKms } from "@signpost/gcp-kms";
 *
 * const uri = "gcpkms://projects/op/locations/europe-west3/keyRings/signing/cryptoKeys/id-token/cryptoKeyVersions/3";
 * const signer = await openSigner(uri, [gcpKms()]);
 * ```
 */
export function gcpKms(options: GcpKmsAdapterOptions = {}): SignerAdapter {
  assertOptions("options", options, OPTIONS);
  readConnectionOptions(options);
  planCalls(options);
  return createAdapter("gcpkms", async (uri, { policy, signal }) =>
    openGcpKmsSigner({ ...options, keyVersion: parseKeyUri(uri), policy, signal }),
  );
}
