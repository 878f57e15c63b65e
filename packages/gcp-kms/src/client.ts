import { createRequire } from "node:module";
import { ConfigurationError } from "@signpost/core";
import { readChoice, readEndpoint, type ServiceEndpoint } from "@signpost/core/adapter";
import { makeReady, type GcpKmsClientLike, type ReadyClient } from "./api.ts";

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

/** A client that can be called, and what ends it. */
export interface Connection {
  /** Rejects when no credentials are found. */
  ready(): Promise<ReadyClient>;
  /** Closes a client that we made. */
  close(): Promise<void>;
}

interface OwnClientOptions {
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

/** The caller's client, or one of our own. */
export async function connect(client: GcpKmsClientLike | undefined, own: OwnClientOptions): Promise<Connection> {
  if (client !== undefined) return { ready: () => makeReady(client), close: async () => {} };
  const Client = await loadClient();
  const clientOptions = ownClientOptions(own);
  return ownConnection(() => new Client(clientOptions));
}

function ownConnection(create: () => GcpKmsClientLike): Connection {
  let client: GcpKmsClientLike | undefined = create();
  let isReady = false;
  return {
    ready: async () => {
      const current = (client ??= create());
      try {
        const ready = await makeReady(current);
        isReady = true;
        return ready;
      } catch (error) {
        // A client keeps its failure for good: the next call gets a new one, and new credentials.
        if (client === current) client = undefined;
        throw error;
      }
    },
    // One that is not ready holds no connection, and would wait for its credentials.
    close: async () => {
      if (isReady) await client?.close();
    },
  };
}

/** The options of the client's constructor that we set. */
interface ClientOptions {
  readonly apiEndpoint?: string;
  readonly port?: number;
  readonly fallback?: boolean;
  readonly protocol?: string;
  readonly universeDomain?: string;
  readonly authClient?: unknown;
  readonly sslCreds?: unknown;
  readonly "grpc.max_reconnect_backoff_ms"?: number;
  readonly "grpc.enable_http_proxy"?: 0;
}

const TRANSPORT_OPTIONS: Readonly<Record<GcpKmsTransport, ClientOptions>> = {
  // By default a channel that lost the service waits up to two minutes before it connects again.
  grpc: { "grpc.max_reconnect_backoff_ms": 2_000 },
  rest: { fallback: true },
};

type ClientClass = new (options: ClientOptions) => GcpKmsClientLike;

/** The peer dependency, loaded when a client is needed. */
async function loadClient(): Promise<ClientClass> {
  try {
    const { KeyManagementServiceClient } = (await import("@google-cloud/kms")) as unknown as {
      KeyManagementServiceClient: ClientClass;
    };
    return KeyManagementServiceClient;
  } catch (cause) {
    throw new ConfigurationError("client", "expected a client, or @google-cloud/kms installed", { cause });
  }
}

/** What a client of our own is made with. */
export function ownClientOptions({ endpoint, transport }: OwnClientOptions): ClientOptions {
  return { ...endpointOptions(endpoint, transport), ...TRANSPORT_OPTIONS[transport] };
}

function endpointOptions(endpoint: ServiceEndpoint | undefined, transport: GcpKmsTransport): ClientOptions {
  if (endpoint === undefined) return {};
  const { hostname, port, plaintext } = endpoint;
  // With a host:port in apiEndpoint the client would append :443.
  return { apiEndpoint: hostname, port, ...(plaintext ? plaintextOptions(transport) : {}) };
}

/** The parts of the client's own google-gax: credentials of another copy of grpc-js would be refused. */
interface Gax {
  readonly grpc: { readonly credentials: { createInsecure(): unknown } };
  readonly googleAuthLibrary: { readonly PassThroughClient: new () => unknown };
}

function plaintextOptions(transport: GcpKmsTransport): ClientOptions {
  const require = createRequire(createRequire(import.meta.url).resolve("@google-cloud/kms"));
  const { grpc, googleAuthLibrary } = require("google-gax") as Gax;
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
