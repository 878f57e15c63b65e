import { ConfigurationError, type SignerAdapter } from "@signpost/core";
import {
  assertOptions,
  createAdapter,
  readMilliseconds,
  type OptionNames,
  type ServiceEndpoint,
} from "@signpost/core/adapter";
import { CONNECTION_OPTIONS, readConnectionOptions, type AwsKmsConnectionOptions } from "./client.ts";
import { regionIn } from "./key-name.ts";
import { openAwsKmsSigner, type AwsKmsSignerOptions } from "./open.ts";
import { parseKeyUri } from "./uri.ts";

/** Options of `awsKms`, for all keys that it opens. `region` is that of keys whose URI names none. */
export interface AwsKmsAdapterOptions extends AwsKmsConnectionOptions, Pick<AwsKmsSignerOptions, "openDeadlineMs"> {}

const OPTIONS: OptionNames<AwsKmsAdapterOptions> = {
  ...CONNECTION_OPTIONS,
  openDeadlineMs: true,
};

/**
 * Key URIs of this adapter: `awskms:///alias/op-2026`, `awskms:///arn:aws:kms:…`, a key id. A host part is the
 * endpoint (https, http for loopback, else `scheme=`), `?region=` the Region of a key that does not name one. How else KMS
 * is reached is given here, once for all of them.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or does not fit the others.
 * @example
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { awsKms } from "@signpost/aws-kms";
 *
 * const signer = await openSigner("awskms:///alias/op-2026?region=eu-west-1", [awsKms()]);
 * ```
 */
export function awsKms(options: AwsKmsAdapterOptions = {}): SignerAdapter {
  assertOptions("options", options, OPTIONS);
  const rules = readConnectionOptions(options);
  if (options.openDeadlineMs !== undefined) readMilliseconds("openDeadlineMs", options.openDeadlineMs);
  return createAdapter("awskms", async (uri, { policy, signal }) => {
    const { key, name, region, endpoint } = parseKeyUri(uri, rules);
    assertSameEndpoint(endpoint, rules.endpoint);
    return openAwsKmsSigner({
      ...options,
      key,
      region: region ?? (regionIn(name) === undefined ? options.region : undefined),
      endpoint: endpoint?.url ?? options.endpoint,
      policy,
      signal,
    });
  });
}

/** The canonical URI of a signer that the adapter opened names the adapter's own endpoint; none may name another. */
function assertSameEndpoint(named: ServiceEndpoint | undefined, own: ServiceEndpoint | undefined): void {
  if (named === undefined || own === undefined || named.url === own.url) return;
  throw new ConfigurationError("uri", "expected no host part, or that of the adapter's endpoint");
}
