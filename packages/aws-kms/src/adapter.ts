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

/** Options of `awsKms`, for all keys that it opens. `region` applies to keys whose URI names none. */
export interface AwsKmsAdapterOptions extends AwsKmsConnectionOptions, Pick<AwsKmsSignerOptions, "openDeadlineMs"> {}

const OPTIONS: OptionNames<AwsKmsAdapterOptions> = {
  ...CONNECTION_OPTIONS,
  openDeadlineMs: true,
};

/**
 * Opens key URIs: `awskms:///alias/op-2026`, `awskms:///arn:aws:kms:…`, or a key id. A host in the URI is the endpoint. Its
 * scheme is https, or http on the loopback interface, unless `scheme=` says otherwise. `?region=` is the Region of a key
 * whose name contains none. The options apply to all keys.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another.
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

/** The canonical URI of a signer names the adapter's endpoint. A URI must not name another one. */
function assertSameEndpoint(named: ServiceEndpoint | undefined, own: ServiceEndpoint | undefined): void {
  if (named === undefined || own === undefined || named.url === own.url) return;
  throw new ConfigurationError(
    "uri",
    `expected no host, or the host of the adapter's endpoint, ${own.url}, got ${named.url}`,
  );
}
