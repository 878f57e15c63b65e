import type { GetPublicKeyCommand, KMSClient, SignCommand } from "@aws-sdk/client-kms";
import type { GuardPolicy } from "@signpost/core";
import type { OpeningPlan } from "@signpost/core/adapter";
import { apiFromClient, type AwsKmsApi, type AwsKmsClientLike } from "./api.ts";
import { expectMetadata } from "./credential-requests.ts";
import { createCredentialSource } from "./credential-source.ts";
import { withRenewedCredentials } from "./credentials.ts";
import type { Sdk } from "./sdk.ts";
import { refuseInsecureRequests } from "./secure-requests.ts";
import { DECIDED, type Settings } from "./settings.ts";
import { createSockets, withLiveSockets } from "./sockets.ts";

/** The SDK's own default, kept as the least. */
const MIN_SOCKETS = 50;

/** A client made for a signer: it never retries by itself and never waits for ever. */
export function openOwnClient(
  sdk: Sdk,
  { region, endpoint, useFipsEndpoint, useDualstackEndpoint, allowInsecureEndpoint }: Settings,
  { policy, bounds }: OpeningPlan,
): { readonly api: AwsKmsApi; close(): Promise<void> } {
  const timeoutMs = bounds.attemptTimeoutMs;
  const sockets = createSockets(socketsFor(policy));
  const client = new sdk.KMSClient({
    region,
    // The SDK refuses an endpoint together with a setting for FIPS or dual-stack endpoints: the endpoint wins.
    ...(endpoint === undefined
      ? { useFipsEndpoint, useDualstackEndpoint }
      : { endpoint: endpoint.url, useFipsEndpoint: false, useDualstackEndpoint: false }),
    // The guard retries. Two that do would multiply each other.
    maxAttempts: 1,
    // A variable or a profile may say adaptive: calls would then wait for seconds, and heed no signal, after a refusal.
    retryMode: "standard",
    ...DECIDED,
    cacheMiddleware: true,
    credentialDefaultProvider: patientProvider(sdk, timeoutMs),
    requestHandler: {
      // A connection that does not come about leaves time for another attempt before the deadline.
      connectionTimeout: Math.ceil(timeoutMs / 2),
      // Until the head of the answer, and without the second option only a warning.
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      // After the head: the longest silence.
      socketTimeout: timeoutMs,
      // By default the sum of the first two, which may be too long for a timer.
      socketAcquisitionWarningTimeout: timeoutMs,
      httpAgent: sockets.httpAgent,
      httpsAgent: sockets.httpsAgent,
    },
  });
  if (!allowInsecureEndpoint) refuseInsecureRequests(client.config.requestHandler);
  const renew = async (): Promise<void> => void (await client.config.credentials({ forceRefresh: true }));
  const api = withLiveSockets(apiFromClient(abortable(client), sdk), sockets);
  return { api: withRenewedCredentials(api, renew), close: async () => client.destroy() };
}

type DefaultProvider = KMSClient["config"]["credentialDefaultProvider"];
type ProviderInit = Parameters<DefaultProvider>[0];

/** The SDK's default credentials, asked as `createCredentialSource` says. */
function patientProvider({ KMSClient }: Sdk, attemptTimeoutMs: number): DefaultProvider {
  const bare = new KMSClient(DECIDED);
  const provide = bare.config.credentialDefaultProvider;
  bare.destroy();
  // A little less than the attempt, so that its error says that it was credentials that did not come.
  const patienceMs = Math.max(1, Math.floor(attemptTimeoutMs * 0.9));
  return (init: ProviderInit) => {
    // A profile may name the metadata service as its source, which only the SDK's log tells.
    const debug = (message: unknown): void => {
      if (String(message).includes("credential_source is Ec2InstanceMetadata")) expectMetadata();
    };
    const logger = Object.create(init.logger, { debug: { value: debug } });
    // The guard retries.
    // Without it the client of SSO has a handler of the SDK's.
    const clientConfig = { requestHandler: init["requestHandler"] };
    return createCredentialSource(() => provide({ ...init, clientConfig, logger, maxRetries: 0 }), patienceMs);
  };
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
