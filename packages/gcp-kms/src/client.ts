import { ConfigurationError } from "@signpost/core";
import { given, memberOf, readChoice, readEndpoint, type ServiceEndpoint } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "./api.ts";
import { credentialFileAnswers } from "./credential-file.ts";
import { gaxOf, loadClientClass, requireClassNames, type Gax } from "./sdk.ts";
import type { OwnClients } from "./own-connection.ts";
import { createSockets, useSockets } from "./sockets.ts";

/** How to reach the service. By default the adapter makes a client with Google's application default credentials. */
export interface GcpKmsConnectionOptions {
  /**
   * Your own `KeyManagementServiceClient`, with your credentials and transport. Any number of signers can share it. You
   * close it. Give it `clientOptions: { transporterOptions: { redirect: "manual" } }`: its node-fetch ends the process for some
   * redirects. Default: the adapter makes one.
   */
  readonly client?: GcpKmsClientLike | undefined;
  /**
   * `https://HOST[:PORT]` for a private endpoint, or `http://HOST:PORT` for an emulator, only on the loopback interface and
   * without credentials. Not allowed together with `client`. Default: the public service.
   */
  readonly endpoint?: string | undefined;
  /**
   * `rest` if the network blocks HTTP/2. Not allowed together with `client`. Default `grpc`, which is faster under
   * load.
   */
  readonly transport?: GcpKmsTransport | undefined;
}

/** How calls are sent: over HTTP/2 with protocol buffers, or over HTTP with JSON. */
export type GcpKmsTransport = "grpc" | "rest";

/** Endpoint and transport of the client that the adapter makes. */
export interface OwnClientOptions {
  readonly endpoint: ServiceEndpoint | undefined;
  readonly transport: GcpKmsTransport;
}

/** Reads the options for the client that the adapter makes. Refuses conflicting options before anything is opened. */
export function readConnectionOptions({ client, endpoint, transport }: GcpKmsConnectionOptions): OwnClientOptions {
  const own: OwnClientOptions = {
    transport: transport === undefined ? "grpc" : readChoice("transport", transport, ["grpc", "rest"]),
    endpoint: endpoint === undefined ? undefined : readEndpoint("endpoint", endpoint),
  };
  if (client === undefined) return own;
  if (endpoint !== undefined || transport !== undefined) {
    throw new ConfigurationError("client", "not allowed together with endpoint or transport");
  }
  if (typeof client?.asymmetricSign !== "function" || typeof client.initialize !== "function") {
    throw new ConfigurationError(
      "client",
      `expected a KeyManagementServiceClient of @google-cloud/kms, got ${given(client)}`,
    );
  }
  return own;
}

const DOMAIN = "googleapis.com";

/** Notes for the operator: variables of the SDK may decide which service the adapter's client calls. */
export function environmentNotes({ client, endpoint, transport }: GcpKmsConnectionOptions): readonly string[] {
  if (client !== undefined || endpoint !== undefined) return [];
  const domain = process.env["GOOGLE_CLOUD_UNIVERSE_DOMAIN"] || undefined;
  const usual = `cloudkms.${domain ?? DOMAIN}`;
  // As google-gax does it, over gRPC alone.
  const mtls = transport === "rest" ? undefined : mtlsVariable();
  const host = mtls === undefined ? usual : usual.replace(DOMAIN, `mtls.${DOMAIN}`);
  const names = [domain && "GOOGLE_CLOUD_UNIVERSE_DOMAIN", host === usual ? undefined : mtls];
  const found = names.filter((name) => name !== undefined);
  return found.length === 0 ? [] : [`endpoint https://${host}, from ${found.join(" and ")}`];
}

/** The variable that makes google-gax call the endpoint for client certificates. */
function mtlsVariable(): string | undefined {
  const { GOOGLE_API_USE_MTLS_ENDPOINT: endpoint, GOOGLE_API_USE_CLIENT_CERTIFICATE: certificate } = process.env;
  if (endpoint === "never") return undefined;
  if (endpoint === "always") return "GOOGLE_API_USE_MTLS_ENDPOINT";
  return certificate === "true" ? "GOOGLE_API_USE_CLIENT_CERTIFICATE" : undefined;
}

/** The options that the adapter passes to the client's constructor. */
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

/** How to find a connection that the network has lost. */
export interface Keepalive {
  /** How long after the last ping the next one is sent, while a call runs. Milliseconds. */
  readonly timeMs: number;
  /** How long a ping may go unanswered. Milliseconds. */
  readonly timeoutMs: number;
}

/**
 * After a longer pause, a call sends a ping immediately. A dead connection is dropped in the middle of the first
 * attempt.
 */
const KEEPALIVE: Keepalive = { timeMs: 10_000, timeoutMs: 1_000 };

function transportOptions(transport: GcpKmsTransport, keepalive: Keepalive): ClientOptions {
  if (transport === "rest") return { fallback: true };
  return {
    // By default a channel that lost the service waits up to two minutes before it connects again.
    "grpc.max_reconnect_backoff_ms": 2_000,
    // Without it, a new channel uses the connection of another one in the process, even a dead one.
    "grpc.use_local_subchannel_pool": 1,
    // grpc-js sends pings only during calls, and waits longer between them if the service says too_many_pings.
    "grpc.keepalive_time_ms": keepalive.timeMs,
    "grpc.keepalive_timeout_ms": keepalive.timeoutMs,
  };
}

/** Loads the SDK, and returns a maker of clients. */
export async function createOwnClients(
  own: OwnClientOptions,
  projectId: string | undefined,
  keepalive: Keepalive = KEEPALIVE,
): Promise<OwnClients> {
  const Client = await loadClientClass();
  if (own.transport === "rest") requireClassNames(Client);
  const options = {
    ...ownClientOptions(own, () => gaxOf(Client), keepalive),
    // Without it, the search for credentials asks a metadata server and Cloud Resource Manager for it, even outside
    // Google.
    ...(projectId === undefined ? {} : { projectId }),
  };
  const sockets = own.transport === "rest" ? createSockets() : undefined;
  return {
    sockets,
    // A client for plain http searches for none.
    untilFileAnswers: own.endpoint?.plaintext === true ? undefined : credentialFileAnswers,
    create: (auth) => {
      const client = new Client(auth === undefined ? options : { ...options, auth });
      if (sockets !== undefined) useSockets(client, sockets);
      return client;
    },
    forgetAbsence: ({ auth }) => {
      // If a metadata server answered, the SDK should remember it.
      if (memberOf(auth, "isGCE") !== true) gaxOf(Client).googleAuthLibrary.gcpMetadata.resetIsAvailableCache();
    },
  };
}

/** The constructor options of the client that the adapter makes. */
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
  // To a host:port in apiEndpoint, the client would append :443.
  return { apiEndpoint: hostname, port, ...(plaintext ? plaintextOptions(transport, gax()) : {}) };
}

function plaintextOptions(transport: GcpKmsTransport, { grpc, googleAuthLibrary }: Gax): ClientOptions {
  return {
    // Without it, the client asks the metadata server for credentials and for the name of its universe.
    authClient: new googleAuthLibrary.PassThroughClient(),
    universeDomain: DOMAIN,
    ...(transport === "rest"
      ? { protocol: "http" }
      : {
          sslCreds: grpc.credentials.createInsecure(),
          // Loopback is this machine, but gRPC would use the proxy of the environment.
          "grpc.enable_http_proxy": 0,
        }),
  };
}
