import type { SignerAdapter } from "@signpost/core";
import type { GcpKmsConnectionOptions } from "./connection.ts";
import { type GcpKmsSignerOptions, openGcpKmsSigner } from "./open.ts";
import { fromUri } from "./uri.ts";

export interface GcpKmsAdapterOptions
  extends GcpKmsConnectionOptions, Pick<GcpKmsSignerOptions, "callTimeoutMs" | "openDeadlineMs"> {}

/**
 * Key URIs of this adapter: `gcpkms://` and the resource name of a version. How the service is reached is given
 * here, once for all of them.
 *
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { gcpKms } from "@signpost/gcp-kms";
 *
 * const uri = "gcpkms://projects/op/locations/europe-west3/keyRings/signing/cryptoKeys/id-token/cryptoKeyVersions/3";
 * await using signer = await openSigner(uri, [gcpKms()]);
 * ```
 */
export function gcpKms(options: GcpKmsAdapterOptions = {}): SignerAdapter {
  return {
    scheme: "gcpkms",
    open: async (uri, { policy, signal } = {}) =>
      openGcpKmsSigner({ ...options, keyVersion: fromUri(uri), policy, signal }),
  };
}
