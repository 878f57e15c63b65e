import type * as sdk from "@aws-sdk/client-kms";
import type { GetPublicKeyCommand, KMSClient, SignCommand } from "@aws-sdk/client-kms";
import { ConfigurationError, type GuardPolicy } from "@signpost/core";
import type { OpeningPlan, ServiceEndpoint } from "@signpost/core/adapter";
import { apiFromClient, type AwsKmsApi, type AwsKmsClientLike, type AwsKmsCommands } from "./api.ts";
import { withRenewedCredentials } from "./credentials.ts";
import { parseEndpoint } from "./endpoint.ts";
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
   * Of our own client: `https://HOST[:PORT]`, or `http://HOST:PORT` on the loopback interface. Default: the public
   * service.
   */
  readonly endpoint?: string | undefined;
}

/** The calls of KMS, and what ends the client behind them. */
export interface Connection {
  readonly api: AwsKmsApi;
  close(): Promise<void>;
}

/** The endpoint that the options name. Refuses options that do not fit together, before anything is opened. */
export function readConnectionOptions(options: AwsKmsConnectionOptions): ServiceEndpoint | undefined {
  const { client, api, region, endpoint } = options;
  if (client !== undefined && api !== undefined) throw new ConfigurationError("api", "expected either api or client");
  if (client !== undefined && typeof client?.send !== "function") {
    throw new ConfigurationError("client", "expected a KMSClient");
  }
  if (api !== undefined && (typeof api?.getPublicKey !== "function" || typeof api.sign !== "function")) {
    throw new ConfigurationError("api", "expected an AwsKmsApi: getPublicKey and sign");
  }
  const given = client === undefined ? "api" : "client";
  for (const name of ["region", "endpoint"] as const) {
    if (options[name] === undefined || (client === undefined && api === undefined)) continue;
    throw new ConfigurationError(name, `expected none together with ${given}, which has its own`);
  }
  if (region !== undefined) parseRegion("region", region);
  return endpoint === undefined ? undefined : parseEndpoint("endpoint", endpoint);
}

/** The caller's client or transport, or a client of our own, for the Region and endpoint that were found. */
export async function connect(
  { client, api }: AwsKmsConnectionOptions,
  region: string | undefined,
  endpoint: ServiceEndpoint | undefined,
  plan: OpeningPlan,
): Promise<Connection> {
  const close = async (): Promise<void> => {};
  if (api !== undefined) return { api, close };
  const commands = await loadSdk();
  if (client !== undefined) return { api: apiFromClient(client, commands), close };
  return openOwnClient(commands, region, endpoint, plan);
}

/** The peer dependency, loaded when a client is needed: another transport does without it. */
async function loadSdk(): Promise<typeof sdk> {
  try {
    return await import("@aws-sdk/client-kms");
  } catch (cause) {
    throw new ConfigurationError("client", "expected the peer dependency @aws-sdk/client-kms to be installed", {
      cause,
    });
  }
}

/** The SDK's own default, kept as the least. */
const MIN_SOCKETS = 50;

/** A client made for a signer: it never retries by itself and never waits for ever. */
async function openOwnClient(
  commands: AwsKmsCommands & Pick<typeof sdk, "KMSClient">,
  region: string | undefined,
  endpoint: ServiceEndpoint | undefined,
  { policy, bounds }: OpeningPlan,
): Promise<Connection> {
  const timeoutMs = bounds.attemptTimeoutMs;
  const agent = { keepAlive: true, maxSockets: socketsFor(policy) };
  const client = new commands.KMSClient({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint: endpoint.url }),
    // The guard retries. Two that do would multiply each other.
    maxAttempts: 1,
    cacheMiddleware: true,
    requestHandler: {
      // A connection that does not come about leaves time for another attempt before the deadline.
      connectionTimeout: Math.ceil(timeoutMs / 2),
      // Until the head of the answer, and without the second option only a warning.
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      // After the head: the longest silence.
      socketTimeout: timeoutMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
  await requireRegion(() => client.config.region());
  const renew = async (): Promise<void> => void (await client.config.credentials({ forceRefresh: true }));
  const api = apiFromClient(abortable(client), commands);
  return { api: withRenewedCredentials(api, renew), close: async () => client.destroy() };
}

/**
 * Calls it without options: the SDK keeps its composed middleware for such calls alone, and composing it takes a fifth
 * of a call's processor time. The innermost middleware hands the signal to the request handler instead.
 */
function abortable(client: KMSClient): AwsKmsClientLike {
  const signals = new WeakMap<object, AbortSignal>();
  client.middlewareStack.add(
    (next) => async (args) => {
      const abortSignal = signals.get(args.input);
      if (abortSignal === undefined) return next(args);
      return client.config.requestHandler.handle(args.request, { abortSignal });
    },
    { step: "deserialize", priority: "low", name: "signpostAbortSignal" },
  );
  return {
    send: (command: GetPublicKeyCommand | SignCommand, { abortSignal } = {}) => {
      if (abortSignal !== undefined) signals.set(command.input, abortSignal);
      // Either command fits, but the overloads of `send` take no union.
      return client.send(command as SignCommand);
    },
  };
}

/** At least as many as the guard lets calls through, so that no call waits for a socket. */
function socketsFor(policy: GuardPolicy | false): number {
  // How many come at once is decided outside, by a shared limiter or around a bare signer, and bounded there.
  if (policy === false || policy.limiter !== undefined) return Number.POSITIVE_INFINITY;
  return Math.max(MIN_SOCKETS, policy.concurrency ?? 0);
}

async function requireRegion(read: () => Promise<string>): Promise<void> {
  try {
    await read();
  } catch (cause) {
    throw new ConfigurationError("region", "expected a Region: in the key ARN, as an option, or in AWS_REGION", {
      cause,
    });
  }
}
