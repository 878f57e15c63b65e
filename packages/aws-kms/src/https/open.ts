import type { Agent } from "node:https";
import { ConfigurationError } from "@signpost/core";
import { readRegularFile } from "@signpost/core/adapter";
import type { AwsKmsApi } from "../api.ts";
import { watchCredentialRequests } from "../credential-requests.ts";
import { createCredentialSource, type CredentialProvider } from "../credential-source.ts";
import { withRenewedCredentials } from "../credentials.ts";
import { createOwnClient } from "../own-client.ts";
import { loadSdk } from "../sdk.ts";
import { readSettings, type GivenSettings, type Settings } from "../settings.ts";
import { createSockets, withLiveSockets, type Sockets } from "../sockets.ts";
import { createCredentialStore } from "./credential-store.ts";
import { environmentCredentials, environmentSettings } from "./environment.ts";
import { createHttpApi } from "./http-api.ts";
import { publicEndpoint } from "./public-endpoint.ts";

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

/** A bundle of certificate authorities has about 250 KB. */
const MAX_BUNDLE_BYTES = 4_194_304;

/**
 * Opens the transport without the SDK. The SDK is only loaded if it must read settings or find credentials.
 *
 * @throws ConfigurationError as `readSettings`, and for a certificate bundle that cannot be read.
 */
export async function openHttps(plan: HttpsPlan): Promise<HttpsConnection> {
  const settings = (await environmentSettings(plan.settings)) ?? (await readSettings(await loadSdk(), plan.settings));
  const url = new URL(settings.endpoint?.url ?? publicEndpoint(settings));
  const plaintext = url.protocol === "http:";
  const ca = plan.agent === undefined && !plaintext ? await readBundle() : undefined;
  const sockets = createSockets(plan.maxSockets, undefined, { ca });
  const source = credentialsOf(plan, settings, sockets);
  const store = createCredentialStore(source.provide);
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
  });
  const live = plan.agent === undefined ? withLiveSockets(api, sockets) : api;
  return {
    api: withRenewedCredentials(live, () => store.renew()),
    settings,
    close: async () => {
      source.close();
      sockets.httpAgent.destroy();
      sockets.httpsAgent.destroy();
    },
  };
}

interface CredentialChain {
  readonly provide: CredentialProvider<unknown>;
  close(): void;
}

/** The caller's provider, or the environment and then the SDK's default credentials. */
function credentialsOf({ credentials, timeoutMs }: HttpsPlan, settings: Settings, sockets: Sockets): CredentialChain {
  if (credentials !== undefined) {
    // A little less than the attempt, so that the error can say that the credentials did not arrive.
    const patienceMs = Math.max(1, Math.floor(timeoutMs * 0.9));
    return { provide: createCredentialSource(() => credentials, patienceMs), close: () => undefined };
  }
  let chain: Promise<ReturnType<typeof createOwnClient>> | undefined;
  const load = async (): Promise<ReturnType<typeof createOwnClient>> => {
    const sdk = await loadSdk();
    watchCredentialRequests();
    return createOwnClient(sdk, settings, { sockets, timeoutMs });
  };
  return {
    provide: async (options) => {
      const found = environmentCredentials();
      if (found !== undefined) return found;
      chain ??= load();
      const client = await chain.catch((error: unknown) => {
        chain = undefined;
        throw error;
      });
      return client.config.credentials(options);
    },
    close: () => void chain?.then((client) => client.destroy()).catch(() => undefined),
  };
}

/** The certificate authorities that the AWS tools trust, instead of Node's. */
async function readBundle(): Promise<string | undefined> {
  const path = process.env["AWS_CA_BUNDLE"] ?? "";
  if (path === "") return undefined;
  const pem = Buffer.from(await readBundleFile(path)).toString("utf8");
  // Node ignores any other text, and would trust no certificate at all.
  if (pem.includes("-----BEGIN ")) return pem;
  throw new ConfigurationError("AWS_CA_BUNDLE", 'expected a file with certificates in PEM, found no "-----BEGIN "');
}

async function readBundleFile(path: string): Promise<Uint8Array> {
  try {
    return await readRegularFile("AWS_CA_BUNDLE", path, MAX_BUNDLE_BYTES);
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError("AWS_CA_BUNDLE", "expected the path of a file that can be read", { cause });
  }
}
