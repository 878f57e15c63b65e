import { ConfigurationError, type SignerAdapter } from "@signpost/core";
import { openAwsKmsSigner, type AwsKmsConnectionOptions, type AwsKmsSignerOptions } from "./open.ts";
import { parseKmsUri } from "./uri.ts";

export interface AwsKmsAdapterOptions extends AwsKmsConnectionOptions, Pick<AwsKmsSignerOptions, "openDeadlineMs"> {}

/**
 * Key URIs of this adapter: `awskms:///alias/op-2026`, `awskms:///arn:aws:kms:…`, a key id. A host part is the
 * endpoint (https, http for loopback), `?region=` the Region of a key that does not name one. How KMS is reached
 * besides is given here, once for all of them.
 *
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { awsKms } from "@signpost/aws-kms";
 *
 * await using signer = await openSigner("awskms:///alias/op-2026?region=eu-west-1", [awsKms()]);
 * ```
 */
export function awsKms(options: AwsKmsAdapterOptions = {}): SignerAdapter {
  return {
    scheme: "awskms",
    open: async (uri, { policy, signal } = {}) => {
      const { keyId, region, endpoint } = parseKmsUri(uri);
      if (endpoint !== undefined && options.endpoint !== undefined) {
        throw new ConfigurationError("uri", "expected no host part, since the adapter has an endpoint");
      }
      return openAwsKmsSigner({
        ...options,
        keyId,
        region: region ?? options.region,
        endpoint: endpoint?.url ?? options.endpoint,
        policy,
        signal,
      });
    },
  };
}
