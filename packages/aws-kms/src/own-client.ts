import type { GetPublicKeyCommand, KMSClient, SignCommand } from "@aws-sdk/client-kms";
import type { GuardPolicy } from "@signpost/core";
import { memberOf, type OpeningPlan } from "@signpost/core/adapter";
import { apiFromClient, type AwsKmsApi, type AwsKmsClientLike } from "./api.ts";
import { expectMetadata } from "./credential-requests.ts";
import { createCredentialSource } from "./credential-source.ts";
import { withRenewedCredentials } from "./credentials.ts";
import { withFreshFiles } from "./profile-files.ts";
import type { Sdk } from "./sdk.ts";
import { refuseInsecureRequests } from "./secure-requests.ts";
import { rememberingClient } from "./sent-secrets.ts";
import { DECIDED, type Settings } from "./settings.ts";
import { createSockets, withLiveSockets, type Sockets } from "./sockets.ts";
import { afterTokenFiles } from "./token-files.ts";

/** The SDK's default, kept as the minimum. */
const MIN_SOCKETS = 50;

/** Opens a client of the SDK for a signer. */
export function openOwnClient(
  sdk: Sdk,
  settings: Settings,
  { policy, bounds }: OpeningPlan,
): { readonly api: AwsKmsApi; close(): Promise<void> } {
  const sockets = createSockets(socketsFor(policy));
  const life = new AbortController();
  /** The last two. While calls go on that were sent with one, the next one may arrive. */
  let sessionTokens: readonly unknown[] = [];
  const client = createOwnClient(sdk, settings, {
    sockets,
    timeoutMs: bounds.attemptTimeoutMs,
    ended: life.signal,
    onIdentity: (identity) => {
      const token = memberOf(identity, "sessionToken");
      if (token !== sessionTokens[0]) sessionTokens = [token, ...sessionTokens].slice(0, 2);
    },
  });
  const renew = async (): Promise<void> => void (await client.config.credentials({ forceRefresh: true }));
  const remembering = rememberingClient(abortable(client), () => sessionTokens);
  const api = withLiveSockets(apiFromClient(remembering, sdk), sockets);
  const close = async (): Promise<void> => {
    life.abort();
    client.destroy();
  };
  return { api: withRenewedCredentials(api, renew), close };
}

/** The connections of a client, and the time limit of its requests. */
export interface ClientLimits {
  readonly sockets: Sockets;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Aborts when the client is not used any more. */
  readonly ended: AbortSignal;
  /** Called with each identity that was found. */
  readonly onIdentity?: ((identity: unknown) => void) | undefined;
}

/** Makes a client of the SDK that never retries and never waits forever. */
export function createOwnClient(
  sdk: Sdk,
  { region, endpoint, useFipsEndpoint, useDualstackEndpoint, allowInsecureEndpoint }: Settings,
  { sockets, timeoutMs, ended, onIdentity }: ClientLimits,
): KMSClient {
  const client = new sdk.KMSClient({
    region,
    // The SDK refuses an endpoint together with a FIPS or dual-stack setting. The endpoint overrides the setting.
    ...(endpoint === undefined
      ? { useFipsEndpoint, useDualstackEndpoint }
      : { endpoint: endpoint.url, useFipsEndpoint: false, useDualstackEndpoint: false }),
    // The guard retries. Two retry loops would multiply.
    maxAttempts: 1,
    // A variable or a profile may say adaptive. After a refusal, calls would then wait for seconds and ignore their
    // signal.
    retryMode: "standard",
    ...DECIDED,
    cacheMiddleware: true,
    credentialDefaultProvider: patientProvider(sdk, timeoutMs, { ended, onIdentity }),
    requestHandler: {
      // If no connection can be made, this leaves time for another attempt before the deadline.
      connectionTimeout: Math.ceil(timeoutMs / 2),
      // Until the head of the answer arrives. Without the second option this is only a warning.
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      // The longest silence after the head.
      socketTimeout: timeoutMs,
      // The default is the sum of the first two, which may be too long for a timer.
      socketAcquisitionWarningTimeout: timeoutMs,
      httpAgent: sockets.httpAgent,
      httpsAgent: sockets.httpsAgent,
    },
  });
  if (!allowInsecureEndpoint) refuseInsecureRequests(client.config.requestHandler);
  return client;
}

type DefaultProvider = KMSClient["config"]["credentialDefaultProvider"];
type ProviderInit = Parameters<DefaultProvider>[0];

/** The SDK's default credentials, through `createCredentialSource`. */
function patientProvider(
  { KMSClient }: Sdk,
  attemptTimeoutMs: number,
  { ended, onIdentity = () => undefined }: Pick<ClientLimits, "ended" | "onIdentity">,
): DefaultProvider {
  const bare = new KMSClient(DECIDED);
  const provide = bare.config.credentialDefaultProvider;
  bare.destroy();
  // A little less than the attempt, so that the error can say that the credentials did not arrive.
  const patienceMs = Math.max(1, Math.floor(attemptTimeoutMs * 0.9));
  return (init: ProviderInit) => {
    // A profile may name the metadata service as its source. Only the SDK's log says so.
    const debug = (message: unknown): void => {
      if (String(message).includes("credential_source is Ec2InstanceMetadata")) expectMetadata();
    };
    const logger = Object.create(init.logger, { debug: { value: debug } });
    // Without it the SSO client would have the SDK's own handler.
    const clientConfig = { requestHandler: init["requestHandler"] };
    const make = (ignoresCache: () => boolean): ReturnType<DefaultProvider> =>
      provide({
        ...init,
        clientConfig,
        logger,
        maxRetries: 0,
        get ignoreCache() {
          return ignoresCache();
        },
      });
    const source = createCredentialSource(() => afterTokenFiles(withFreshFiles(make)), patienceMs, ended);
    return async (options) => {
      const identity = await source(options);
      onIdentity(identity);
      return identity;
    };
  };
}

/**
 * Calls the client without options, because the SDK caches its composed middleware only for such calls, and composing
 * it takes a fifth of a call's processor time. The innermost middleware passes the signal to the request handler
 * instead.
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
      // `send` accepts either command, but its overloads accept no union.
      return client.send(command as SignCommand);
    },
  };
}

/** At least as many sockets as the guard allows calls, so that no call waits for a socket. */
export function socketsFor(policy: GuardPolicy | false): number {
  // A shared limiter, or the code around a bare signer, limits the calls.
  if (policy === false || policy.limiter !== undefined) return Number.POSITIVE_INFINITY;
  return Math.max(MIN_SOCKETS, policy.concurrency ?? 0);
}
