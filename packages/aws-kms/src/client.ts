import { ConfigurationError, SignerError } from "@signpost/core";
import {
  given,
  memberOf,
  readChoice,
  readFlag,
  withinDeadline,
  type OpeningPlan,
  type OptionNames,
  type ServiceEndpoint,
} from "@signpost/core/adapter";
import { apiFromClient, type AwsKmsApi, type AwsKmsClientLike } from "./api.ts";
import { parseEndpoint } from "./endpoint.ts";
import { configurationCause } from "./errors.ts";
import { withKnownSources } from "./known-sources.ts";
import { openHttps } from "./https/open.ts";
import { openOwnClient, socketsFor } from "./own-client.ts";
import { settingsOf } from "./own-apis.ts";
import { loadSdk } from "./sdk.ts";
import { rememberingClient } from "./sent-secrets.ts";
import { readSettings, type GivenSettings, type Settings } from "./settings.ts";
import { parseRegion } from "./uri.ts";

/** How to reach KMS. By default the adapter makes a client with the SDK's default credentials and Region. */
export interface AwsKmsConnectionOptions {
  /**
   * Your own `KMSClient`, used unchanged with its credentials, Region and endpoint. Its retries run inside the signer's
   * deadline, so set `maxAttempts: 1`. `close()` does not destroy it. Default: the adapter makes one.
   */
  readonly client?: AwsKmsClientLike | undefined;
  /** Your own transport, instead of the SDK. Default: the SDK. */
  readonly api?: AwsKmsApi | undefined;
  /**
   * How the client that the adapter makes sends its requests: `"sdk"` through the SDK, `"https"` directly with Node's HTTP
   * client. The second takes less processor time and starts faster. Default `"sdk"`.
   */
  readonly transport?: "sdk" | "https" | undefined;
  /**
   * Region of the client that the adapter makes, such as `eu-west-1`. Default: the Region in the key's ARN, otherwise
   * the one that the SDK finds.
   */
  readonly region?: string | undefined;
  /**
   * Endpoint of the client that the adapter makes: `https://HOST[:PORT]`, or `http://HOST:PORT` on the loopback interface.
   * Default: the one that the SDK finds in its environment and files (`AWS_ENDPOINT_URL_KMS`, `AWS_ENDPOINT_URL`,
   * `endpoint_url`), otherwise the public service.
   */
  readonly endpoint?: string | undefined;
  /**
   * Accepts plain http to any host, from `endpoint` and from the SDK's environment, for an emulator in another container.
   * Digests and session tokens are then sent unencrypted. For the client that the adapter makes. Default false.
   */
  readonly allowInsecureEndpoint?: boolean | undefined;
}

export const CONNECTION_OPTIONS: OptionNames<AwsKmsConnectionOptions> = {
  client: true,
  api: true,
  transport: true,
  region: true,
  endpoint: true,
  allowInsecureEndpoint: true,
};

/** The calls of KMS, and `close` for the client that makes them. */
export interface Connection {
  readonly api: AwsKmsApi;
  /** The Region that is called. Undefined if only the caller's transport knows it. */
  readonly region: string | undefined;
  /** The endpoint for key URIs. Undefined for the public service and for the caller's client. */
  readonly endpoint: ServiceEndpoint | undefined;
  /** Notes for the operator about how the service is reached. */
  readonly notes: readonly string[];
  close(): Promise<void>;
}

/** Reads the options for the client that the adapter makes. Refuses conflicting options before anything is opened. */
export function readConnectionOptions(options: AwsKmsConnectionOptions): Omit<GivenSettings, "region"> {
  const { client, api, region, endpoint } = options;
  if (client !== undefined && api !== undefined)
    throw new ConfigurationError("api", "expected api or client, not both");
  if (client !== undefined && typeof client?.send !== "function") {
    throw new ConfigurationError("client", `expected a KMSClient, got ${given(client)}`);
  }
  if (api !== undefined && (typeof api?.getPublicKey !== "function" || typeof api.sign !== "function")) {
    throw new ConfigurationError(
      "api",
      `expected an object with the functions getPublicKey and sign, got ${given(api)}`,
    );
  }
  const other = client === undefined ? "api" : "client";
  for (const name of ["transport", "region", "endpoint", "allowInsecureEndpoint"] as const) {
    if (options[name] === undefined || (client === undefined && api === undefined)) continue;
    throw new ConfigurationError(name, `not allowed together with ${other}, which has its own`);
  }
  if (options.transport !== undefined) readChoice("transport", options.transport, ["sdk", "https"]);
  if (region !== undefined) parseRegion("region", region);
  const allowInsecureEndpoint = readFlag("allowInsecureEndpoint", options.allowInsecureEndpoint ?? false);
  return {
    endpoint: endpoint === undefined ? undefined : parseEndpoint("endpoint", endpoint, allowInsecureEndpoint),
    allowInsecureEndpoint,
  };
}

/** Uses the caller's client or transport, or makes a client from the options and what the SDK finds. */
export async function connect(
  { client, api, transport }: AwsKmsConnectionOptions,
  given: GivenSettings,
  plan: OpeningPlan,
): Promise<Connection> {
  const theirs = { endpoint: undefined, notes: [], close: async () => {} };
  if (api !== undefined) return { ...theirs, region: undefined, ...(await foundOf(api, plan)), api };
  if (transport === "https") {
    const limits = { maxSockets: socketsFor(plan.policy), timeoutMs: plan.bounds.attemptTimeoutMs };
    const opened = await withinDeadline(() => openHttps({ settings: given, ...limits }), plan.bounds);
    return { ...found(opened.settings), api: opened.api, close: opened.close };
  }
  const sdk = await loadSdk();
  if (client !== undefined) {
    const region = await withinDeadline(() => regionOf(client, given.region), plan.bounds);
    return { ...theirs, api: withKnownSources(apiFromClient(rememberingClient(client), sdk)), region };
  }
  // This reads files, and a file system may hang.
  const settings = await withinDeadline(() => readSettings(sdk, given), plan.bounds);
  return { ...found(settings), ...openOwnClient(sdk, settings, plan) };
}

/** What is known of a transport. If its settings cannot be read, its first call says why. */
async function foundOf(api: AwsKmsApi, { bounds }: OpeningPlan): Promise<Partial<ReturnType<typeof found>>> {
  try {
    const settings = await withinDeadline(() => settingsOf(api), bounds);
    return settings === undefined ? {} : found(settings);
  } catch (error) {
    if (error instanceof SignerError && error.code !== "closed") throw error;
    return {};
  }
}

function found({ region, endpoint, notes }: Settings): Pick<Connection, "region" | "endpoint" | "notes"> {
  return { region, endpoint: endpoint?.inUri === true ? endpoint : undefined, notes };
}

/**
 * The Region of the caller's client, if it is a client of the SDK. `needed` is the Region in the key's name, if any.
 */
async function regionOf(client: AwsKmsClientLike, needed: string | undefined): Promise<string | undefined> {
  const region = memberOf(memberOf(client, "config"), "region");
  if (typeof region !== "function") return typeof region === "string" ? region : undefined;
  try {
    return String(await region());
  } catch (cause) {
    const example = needed === undefined ? "such as eu-west-1" : `which is ${needed} for this key`;
    throw new ConfigurationError("client", `expected a KMSClient with a Region, ${example}`, {
      cause: configurationCause(cause),
    });
  }
}
