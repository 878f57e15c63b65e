import type { Agent } from "node:https";
import { closedError } from "@signpost/core/adapter";
import type { AwsKmsApi } from "../api.ts";
import { createCredentialSource, type CredentialProvider } from "../credential-source.ts";
import { withRenewedCredentials } from "../credentials.ts";
import { type ClientLimits, createOwnClient } from "../own-client.ts";
import { loadSdk } from "../sdk.ts";
import { readSettings, type GivenSettings, type Settings } from "../settings.ts";
import { createSockets, withLiveSockets, type Sockets } from "../sockets.ts";
import { createCredentialStore } from "./credential-store.ts";
import { environmentCredentials, environmentSettings } from "./environment.ts";
import { createHttpApi } from "./http-api.ts";
import { publicEndpoint } from "./public-endpoint.ts";
import { readTrust } from "./trust.ts";

/** What decides the connections and the credentials. */
export interface HttpsPlan {
  readonly settings: GivenSettings;
  /** Default: the environment, then the SDK's default credentials. */
  readonly credentials?: CredentialProvider<unknown> | undefined;
  /** The caller's agent. Default: our own. */
  readonly agent?: Agent | undefined;
  readonly maxSockets: number;
  /** Time limit of one call. Milliseconds. */
  readonly timeoutMs: number;
}

/** The calls of KMS over HTTPS, and how they are made. */
export interface HttpsConnection {
  readonly api: AwsKmsApi;
  readonly settings: Settings;
  close(): Promise<void>;
}

/**
 * Opens the transport without the SDK. The SDK is only loaded if it must read settings or find credentials.
 *
 * @throws ConfigurationError as `readSettings`, and for a certificate bundle that cannot be read.
 */
export async function openHttps(plan: HttpsPlan): Promise<HttpsConnection> {
  const settings = (await environmentSettings(plan.settings)) ?? (await readSettings(await loadSdk(), plan.settings));
  const url = new URL(settings.endpoint?.url ?? publicEndpoint(settings));
  const plaintext = url.protocol === "http:";
  const secureContext = plan.agent === undefined ? await readTrust() : undefined;
  const own = createSockets(plan.maxSockets, undefined, { secureContext });
  const sockets: Sockets = plan.agent === undefined ? own : { ...own, httpsAgent: plan.agent };
  const life = new AbortController();
  const store = createCredentialStore(providerOf(plan, settings, { sockets, ended: life.signal }));
  let closed = false;
  const assertOpen = (): void => {
    if (closed) throw closedError();
  };
  const api = createHttpApi({
    target: {
      plaintext,
      hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: Number(url.port) || (plaintext ? 80 : 443),
      // The SDK adds the path of each operation, which is "/".
      path: url.pathname.replace(/\/?$/, "/"),
      agent: plan.agent ?? (plaintext ? sockets.httpAgent : sockets.httpsAgent),
      timeoutMs: plan.timeoutMs,
    },
    host: url.host,
    region: settings.region,
    credentials: store,
    assertOpen,
  });
  const live = plan.agent === undefined ? withLiveSockets(api, sockets) : api;
  return {
    api: untilClosed(
      withRenewedCredentials(live, () => store.renew()),
      assertOpen,
    ),
    settings,
    close: async () => {
      closed = true;
      life.abort();
      own.httpAgent.destroy();
      own.httpsAgent.destroy();
    },
  };
}

/** A call that ends because the connections were closed says so. */
function untilClosed(api: AwsKmsApi, assertOpen: () => void): AwsKmsApi {
  const call = async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
    assertOpen();
    try {
      return await send();
    } catch (error) {
      assertOpen();
      throw error;
    }
  };
  return {
    getPublicKey: (input, options) => call(() => api.getPublicKey(input, options)),
    sign: (input, options) => call(() => api.sign(input, options)),
  };
}

/** The caller's provider, or the environment and then the SDK's default credentials. */
function providerOf(
  { credentials, timeoutMs }: HttpsPlan,
  settings: Settings,
  { sockets, ended }: Pick<ClientLimits, "sockets" | "ended">,
): CredentialProvider<unknown> {
  if (credentials !== undefined) {
    // Some providers ask STS in the Region of the client that calls them.
    const callerClientConfig = { region: async () => settings.region };
    // A little less than the attempt, so that the error can say that the credentials did not arrive.
    const patienceMs = Math.max(1, Math.floor(timeoutMs * 0.9));
    return createCredentialSource(() => (options) => credentials({ ...options, callerClientConfig }), patienceMs);
  }
  let chain: Promise<ReturnType<typeof createOwnClient>> | undefined;
  const load = async (): Promise<ReturnType<typeof createOwnClient>> =>
    createOwnClient(await loadSdk(), settings, { sockets, timeoutMs, ended });
  return async (options) => {
    const found = environmentCredentials();
    if (found !== undefined) return found;
    chain ??= load();
    const client = await chain.catch((error: unknown) => {
      chain = undefined;
      throw error;
    });
    return client.config.credentials(options);
  };
}
