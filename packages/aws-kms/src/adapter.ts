import { ConfigurationError, type SignerAdapter } from "@signpost/core";
import { parseEndpoint, type KmsEndpoint } from "./endpoint.ts";
import { regionIn } from "./key-id.ts";
import { openAwsKmsSigner, type AwsKmsConnectionOptions, type AwsKmsSignerOptions } from "./open.ts";
import { parseKmsUri } from "./uri.ts";

/** `region` is that of keys whose URI names none. */
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
      const { keyId, name, region, endpoint } = parseKmsUri(uri);
      assertSameEndpoint(endpoint, options.endpoint);
      return openAwsKmsSigner({
        ...options,
        keyId,
        region: region ?? (regionIn(name) === undefined ? options.region : undefined),
        endpoint: endpoint?.url ?? options.endpoint,
        policy,
        signal,
      });
    },
  };
}

/** The canonical URI of a signer that the adapter opened names the adapter's own endpoint; none may name another. */
function assertSameEndpoint(named: KmsEndpoint | undefined, own: string | undefined): void {
  if (named === undefined || own === undefined || named.url === parseEndpoint("endpoint", own).url) return;
  throw new ConfigurationError("uri", "expected no host part, or that of the adapter's endpoint");
}
