import type { GetPublicKeyCommand, KMSClient, SignCommand } from "@aws-sdk/client-kms";
import { ConfigurationError, type GuardPolicy } from "@signpost/core";
import { apiFromClient, type KmsApi, type KmsCallOptions, type KmsClientLike } from "./api.ts";
import type { KmsEndpoint } from "./endpoint.ts";
import { isCredentialRefusal } from "./errors.ts";
import { loadSdk } from "./load-sdk.ts";

/** A port, and what ends it. */
export interface KmsConnection {
  readonly api: KmsApi;
  close(): void;
}

export interface OwnClientOptions {
  /** Default: what the SDK finds in the environment or the profile. */
  readonly region: string | undefined;
  readonly endpoint: KmsEndpoint | undefined;
  readonly policy: GuardPolicy | false;
}

/** Bound of one attempt where no guard of ours sets one. Milliseconds. */
const UNGUARDED_TIMEOUT_MS = 5_000;
/** The SDK's own default, kept as the least. */
const MIN_SOCKETS = 50;
/** How long refused credentials are not asked for again. Milliseconds. */
const RENEWAL_PAUSE_MS = 5_000;

/** A client made for a signer: it never retries by itself and never waits for ever. */
export async function openOwnClient({ region, endpoint, policy }: OwnClientOptions): Promise<KmsConnection> {
  const { KMSClient } = await loadSdk();
  const timeoutMs = policy === false ? UNGUARDED_TIMEOUT_MS : (policy.attemptTimeoutMs ?? 2000);
  const agent = { keepAlive: true, maxSockets: socketsFor(policy) };
  const client = new KMSClient({
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
  const api = await apiFromClient(abortable(client));
  return { api: withRenewedCredentials(api, renew), close: () => client.destroy() };
}

/**
 * Calls it without options: the SDK keeps its composed middleware for such calls alone, and composing it takes a fifth
 * of a call's processor time. The innermost middleware hands the signal to the request handler instead.
 */
function abortable(client: KMSClient): KmsClientLike {
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

/**
 * Lets a call try once more when its credentials were refused: after a Lambda was frozen, or a role was rotated, the
 * provider has newer ones, or the SDK has seen that the clock is off. Calls that fail together renew them once, and
 * credentials that stay refused are not asked for again for a while.
 */
export function withRenewedCredentials(api: KmsApi, renew: () => Promise<void>): KmsApi {
  let renewedAt = Number.NEGATIVE_INFINITY;
  let renewing: Promise<void> | undefined;

  const renewOnce = async (): Promise<void> => {
    try {
      await renew();
    } finally {
      renewedAt = performance.now();
      renewing = undefined;
    }
  };
  const mayTryAgain = async (startedAt: number): Promise<boolean> => {
    if (renewing === undefined) {
      if (renewedAt >= startedAt) return true;
      if (performance.now() - renewedAt < RENEWAL_PAUSE_MS) return false;
      renewing = renewOnce();
    }
    await renewing;
    return true;
  };
  const attempt = async <Answer>({ signal }: KmsCallOptions, call: () => Promise<Answer>): Promise<Answer> => {
    const startedAt = performance.now();
    try {
      return await call();
    } catch (error) {
      if (!isCredentialRefusal(error) || !(await mayTryAgain(startedAt)) || signal?.aborted === true) throw error;
    }
    return call();
  };
  return {
    getPublicKey: (input, options) => attempt(options, () => api.getPublicKey(input, options)),
    sign: (input, options) => attempt(options, () => api.sign(input, options)),
  };
}
