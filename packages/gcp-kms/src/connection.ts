import { createRequire } from "node:module";
import { ConfigurationError } from "@signpost/core";
import type { GcpKmsClientLike } from "./api.ts";
import { type KmsEndpoint, parseEndpoint } from "./endpoint.ts";
import { makeReady, type ReadyClient } from "./ready-client.ts";

/** How the service is reached. */
export interface GcpKmsConnectionOptions {
  /**
   * A `KeyManagementServiceClient` of your own, for your credentials and transport. It is yours to close. One
   * client serves any number of signers.
   */
  readonly client?: GcpKmsClientLike | undefined;
  /**
   * Instead of a client: `https://HOST[:PORT]` for a private endpoint, `http://HOST:PORT` for an emulator, on the
   * loopback interface only and without looking for credentials. Default: the public service.
   */
  readonly endpoint?: string | undefined;
  /** Instead of a client: `rest` where HTTP/2 does not get through. Default `grpc`, the faster one under load. */
  readonly transport?: "grpc" | "rest" | undefined;
}

export interface Connection {
  /** A client that can be called. Rejects when no credentials are found. */
  ready(): Promise<ReadyClient>;
  /** Closes a client that we made. */
  close(): Promise<void>;
}

export async function connect(options: GcpKmsConnectionOptions): Promise<Connection> {
  const { client, endpoint, transport = "grpc" } = options;
  if (transport !== "grpc" && transport !== "rest") {
    throw new ConfigurationError("transport", 'expected "grpc" or "rest"');
  }
  if (client === undefined) {
    return ownConnection(await clientFactory(endpoint === undefined ? undefined : parseEndpoint(endpoint), transport));
  }
  if (endpoint !== undefined || options.transport !== undefined) {
    throw new ConfigurationError("client", "expected either a client, or endpoint and transport");
  }
  if (typeof client?.asymmetricSign !== "function" || typeof client.initialize !== "function") {
    throw new ConfigurationError("client", "expected a KeyManagementServiceClient of @google-cloud/kms");
  }
  return { ready: () => makeReady(client), close: async () => {} };
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

const TRANSPORT_OPTIONS: Readonly<Record<"grpc" | "rest", ClientOptions>> = {
  // By default a channel that lost the service waits up to two minutes before it connects again.
  grpc: { "grpc.max_reconnect_backoff_ms": 2_000 },
  rest: { fallback: true },
};

type ClientClass = new (options: ClientOptions) => GcpKmsClientLike;

async function clientFactory(
  endpoint: KmsEndpoint | undefined,
  transport: "grpc" | "rest",
): Promise<() => GcpKmsClientLike> {
  const Client = await importClient();
  const options: ClientOptions = { ...endpointOptions(endpoint, transport), ...TRANSPORT_OPTIONS[transport] };
  return () => new Client(options);
}

async function importClient(): Promise<ClientClass> {
  try {
    const { KeyManagementServiceClient } = (await import("@google-cloud/kms")) as unknown as {
      KeyManagementServiceClient: ClientClass;
    };
    return KeyManagementServiceClient;
  } catch (cause) {
    throw new ConfigurationError("client", "expected a client, or @google-cloud/kms installed", { cause });
  }
}

function endpointOptions(endpoint: KmsEndpoint | undefined, transport: "grpc" | "rest"): ClientOptions {
  if (endpoint === undefined) return {};
  const { host, port } = endpoint;
  // With a host:port in apiEndpoint the client would append :443.
  return { apiEndpoint: host, port, ...(endpoint.plaintext ? plaintextOptions(transport) : {}) };
}

/** The parts of the client's own google-gax: credentials of another copy of grpc-js would be refused. */
interface Gax {
  readonly grpc: { readonly credentials: { createInsecure(): unknown } };
  readonly googleAuthLibrary: { readonly PassThroughClient: new () => unknown };
}

function plaintextOptions(transport: "grpc" | "rest"): ClientOptions {
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
