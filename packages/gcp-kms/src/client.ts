import { ConfigurationError } from "@signpost/core";
import { memberOf, readChoice, readEndpoint, type ServiceEndpoint } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "./api.ts";
import { gaxOf, loadClientClass, requireClassNames, type Gax } from "./sdk.ts";
import type { OwnClients } from "./own-connection.ts";

/** How the service is reached. Without any of it: a client of our own, with Google's application default credentials. */
export interface GcpKmsConnectionOptions {
  /**
   * A `KeyManagementServiceClient` of your own, for your credentials and transport. It is yours to close. One
   * client serves any number of signers. Default: one is made.
   */
  readonly client?: GcpKmsClientLike | undefined;
  /**
   * Instead of a client: `https://HOST[:PORT]` for a private endpoint, `http://HOST:PORT` for an emulator, on the
   * loopback interface only and without looking for credentials. Default: the public service.
   */
  readonly endpoint?: string | undefined;
  /** Instead of a client: `rest` where HTTP/2 does not get through. Default `grpc`, the faster one under load. */
  readonly transport?: GcpKmsTransport | undefined;
}

/** How calls travel: HTTP/2 with protocol buffers, or HTTP with JSON. */
export type GcpKmsTransport = "grpc" | "rest";

/** Endpoint and transport of a client of our own. */
export interface OwnClientOptions {
  readonly endpoint: ServiceEndpoint | undefined;
  readonly transport: GcpKmsTransport;
}

/** Endpoint and transport of a client of our own. Refuses options that do not fit together, before anything is opened. */
export function readConnectionOptions({ client, endpoint, transport }: GcpKmsConnectionOptions): OwnClientOptions {
  const own: OwnClientOptions = {
    transport: transport === undefined ? "grpc" : readChoice("transport", transport, ["grpc", "rest"]),
    endpoint: endpoint === undefined ? undefined : readEndpoint("endpoint", endpoint),
  };
  if (client === undefined) return own;
  if (endpoint !== undefined || transport !== undefined) {
    throw new ConfigurationError("client", "expected either a client, or endpoint and transport");
  }
  if (typeof client?.asymmetricSign !== "function" || typeof client.initialize !== "function") {
    throw new ConfigurationError("client", "expected a KeyManagementServiceClient of @google-cloud/kms");
  }
  return own;
}

/** The options of the client's constructor that we set. */
interface ClientOptions {
  readonly apiEndpoint?: string;
  readonly port?: number;
  readonly fallback?: boolean;
  readonly protocol?: string;
  readonly universeDomain?: string;
  readonly projectId?: string;
  readonly auth?: unknown;
  readonly authClient?: unknown;
  readonly sslCreds?: unknown;
  readonly "grpc.max_reconnect_backoff_ms"?: number;
  readonly "grpc.use_local_subchannel_pool"?: 1;
  readonly "grpc.keepalive_time_ms"?: number;
  readonly "grpc.keepalive_timeout_ms"?: number;
  readonly "grpc.enable_http_proxy"?: 0;
}

/** How a connection that the network lost is found out. */
export interface Keepalive {
  /** How long after the last ping the next one is sent, while a call runs. Milliseconds. */
  readonly timeMs: number;
  /** How long a ping may go unanswered. Milliseconds. */
  readonly timeoutMs: number;
}

/** A call after a longer pause sends a ping at once, and the connection is given up in the middle of the first attempt. */
const KEEPALIVE: Keepalive = { timeMs: 10_000, timeoutMs: 1_000 };

function transportOptions(transport: GcpKmsTransport, keepalive: Keepalive): ClientOptions {
  if (transport === "rest") return { fallback: true };
  return {
    // By default a channel that lost the service waits up to two minutes before it connects again.
    "grpc.max_reconnect_backoff_ms": 2_000,
    // Else a new channel takes over the connection of another one in the process, also a dead one.
    "grpc.use_local_subchannel_pool": 1,
    // grpc-js sends no pings without calls, and waits longer between them when the service says too_many_pings.
    "grpc.keepalive_time_ms": keepalive.timeMs,
    "grpc.keepalive_timeout_ms": keepalive.timeoutMs,
  };
}

/** What makes clients of our own. Loads the SDK. */
export async function createOwnClients(
  own: OwnClientOptions,
  projectId: string | undefined,
  keepalive: Keepalive = KEEPALIVE,
): Promise<OwnClients> {
  const Client = await loadClientClass();
  if (own.transport === "rest") requireClassNames(Client);
  const options = {
    ...ownClientOptions(own, () => gaxOf(Client), keepalive),
    // Else it is looked for with the credentials, off Google as well: of a metadata server and of Cloud Resource Manager.
    ...(projectId === undefined ? {} : { projectId }),
  };
  return {
    create: (auth) => new Client(auth === undefined ? options : { ...options, auth }),
    forgetAbsence: ({ auth }) => {
      // What it remembers of a metadata server that did answer is worth keeping.
      if (memberOf(auth, "isGCE") !== true) gaxOf(Client).googleAuthLibrary.gcpMetadata.resetIsAvailableCache();
    },
  };
}

/** What a client of our own is made with. */
export function ownClientOptions(
  { endpoint, transport }: OwnClientOptions,
  gax: () => Gax,
  keepalive: Keepalive = KEEPALIVE,
): ClientOptions {
  return { ...endpointOptions(endpoint, transport, gax), ...transportOptions(transport, keepalive) };
}

function endpointOptions(
  endpoint: ServiceEndpoint | undefined,
  transport: GcpKmsTransport,
  gax: () => Gax,
): ClientOptions {
  if (endpoint === undefined) return {};
  const { hostname, port, plaintext } = endpoint;
  // With a host:port in apiEndpoint the client would append :443.
  return { apiEndpoint: hostname, port, ...(plaintext ? plaintextOptions(transport, gax()) : {}) };
}

function plaintextOptions(transport: GcpKmsTransport, { grpc, googleAuthLibrary }: Gax): ClientOptions {
  return {
    // Without it the client asks the metadata server for credentials and for the name of its universe.
    authClient: new googleAuthLibrary.PassThroughClient(),
    universeDomain: "googleapis.com",
    ...(transport === "rest"
      ? { protocol: "http" }
      : {
          sslCreds: grpc.credentials.createInsecure(),
          // Loopback means this machine. gRPC would take the way through a proxy that the environment names.
          "grpc.enable_http_proxy": 0,
        }),
  };
}
