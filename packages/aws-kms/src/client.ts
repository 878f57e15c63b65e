import { ConfigurationError } from "@signpost/core";
import {
  memberOf,
  readFlag,
  withinDeadline,
  type OpeningPlan,
  type OptionNames,
  type ServiceEndpoint,
} from "@signpost/core/adapter";
import { apiFromClient, type AwsKmsApi, type AwsKmsClientLike } from "./api.ts";
import { watchCredentialRequests } from "./credential-requests.ts";
import { parseEndpoint } from "./endpoint.ts";
import { configurationCause } from "./errors.ts";
import { withKnownSources } from "./known-sources.ts";
import { openOwnClient } from "./own-client.ts";
import { loadSdk } from "./sdk.ts";
import { readSettings, type GivenSettings } from "./settings.ts";
import { parseRegion } from "./uri.ts";

/** How KMS is reached. Without any of it: a client of our own, with the SDK's default credentials and Region. */
export interface AwsKmsConnectionOptions {
  /**
   * A `KMSClient` of yours, used as it is: its retries stay, inside our deadline (set `maxAttempts: 1`), and so do its
   * credentials, Region and endpoint. It is not destroyed by `close()`. Default: one is made.
   */
  readonly client?: AwsKmsClientLike | undefined;
  /** Another transport than the SDK. Default: the SDK. */
  readonly api?: AwsKmsApi | undefined;
  /** Of our own client: `eu-west-1`. Default: the Region in the key's ARN, else the SDK's own search. */
  readonly region?: string | undefined;
  /**
   * Of our own client: `https://HOST[:PORT]`, or `http://HOST:PORT` on the loopback interface. Default: the one that the
   * SDK finds in its environment and files (`AWS_ENDPOINT_URL_KMS`, `AWS_ENDPOINT_URL`, `endpoint_url`), else the public
   * service.
   */
  readonly endpoint?: string | undefined;
  /**
   * Of our own client: accepts plain http to any host, from the option and from the SDK's environment, for an emulator in
   * another container. Digests and session tokens then travel in the clear. Default false.
   */
  readonly allowInsecureEndpoint?: boolean | undefined;
}

export const CONNECTION_OPTIONS: OptionNames<AwsKmsConnectionOptions> = {
  client: true,
  api: true,
  region: true,
  endpoint: true,
  allowInsecureEndpoint: true,
};

/** The calls of KMS, and what ends the client behind them. */
export interface Connection {
  readonly api: AwsKmsApi;
  /** The Region that is asked. Undefined where only the caller's transport knows it. */
  readonly region: string | undefined;
  /** The endpoint for key URIs, where it is not that of the public service or of the caller's client. */
  readonly endpoint: ServiceEndpoint | undefined;
  /** For the operator: how the service is reached. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

/** What the options say of our own client. Refuses options that do not fit together, before anything is opened. */
export function readConnectionOptions(options: AwsKmsConnectionOptions): Omit<GivenSettings, "region"> {
  const { client, api, region, endpoint } = options;
  if (client !== undefined && api !== undefined) throw new ConfigurationError("api", "expected either api or client");
  if (client !== undefined && typeof client?.send !== "function") {
    throw new ConfigurationError("client", "expected a KMSClient");
  }
  if (api !== undefined && (typeof api?.getPublicKey !== "function" || typeof api.sign !== "function")) {
    throw new ConfigurationError("api", "expected an AwsKmsApi: getPublicKey and sign");
  }
  const given = client === undefined ? "api" : "client";
  for (const name of ["region", "endpoint", "allowInsecureEndpoint"] as const) {
    if (options[name] === undefined || (client === undefined && api === undefined)) continue;
    throw new ConfigurationError(name, `expected none together with ${given}, which has its own`);
  }
  if (region !== undefined) parseRegion("region", region);
  const allowInsecureEndpoint = readFlag("allowInsecureEndpoint", options.allowInsecureEndpoint ?? false);
  return {
    endpoint: endpoint === undefined ? undefined : parseEndpoint("endpoint", endpoint, allowInsecureEndpoint),
    allowInsecureEndpoint,
  };
}

/** The caller's client or transport, or a client of our own, for what was given and what the SDK finds. */
export async function connect(
  { client, api }: AwsKmsConnectionOptions,
  given: GivenSettings,
  plan: OpeningPlan,
): Promise<Connection> {
  const theirs = { endpoint: undefined, notes: [], close: async () => {} };
  if (api !== undefined) return { ...theirs, api, region: undefined };
  const sdk = await loadSdk();
  watchCredentialRequests();
  if (client !== undefined) {
    const region = await withinDeadline(() => regionOf(client, given.region), plan.bounds);
    return { ...theirs, api: withKnownSources(apiFromClient(client, sdk)), region };
  }
  // It reads files, which may lie on a file system that hangs.
  const settings = await withinDeadline(() => readSettings(sdk, given), plan.bounds);
  const { region, endpoint, notes } = settings;
  const inUri = endpoint?.inUri === true ? endpoint : undefined;
  return { ...openOwnClient(sdk, settings, plan), region, endpoint: inUri, notes };
}

/** The Region of the caller's client, where it is a client of the SDK. `needed` is that of the key, where it names one. */
async function regionOf(client: AwsKmsClientLike, needed: string | undefined): Promise<string | undefined> {
  const region = memberOf(memberOf(client, "config"), "region");
  if (typeof region !== "function") return typeof region === "string" ? region : undefined;
  try {
    return String(await region());
  } catch (cause) {
    const example = needed === undefined ? "as in eu-west-1" : `${needed} as in the key`;
    throw new ConfigurationError("client", `expected a KMSClient with a Region, ${example}`, {
      cause: configurationCause(cause),
    });
  }
}
