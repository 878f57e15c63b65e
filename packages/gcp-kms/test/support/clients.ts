import { createRequire } from "node:module";
import { KeyManagementServiceClient as Client6 } from "@google-cloud/kms";
import { KeyManagementServiceClient as Client5 } from "google-cloud-kms-5";
import type { GcpKmsClientLike } from "@signpost/gcp-kms";

/** Where a fake or an emulator listens. */
export interface Ports {
  readonly host: string;
  readonly grpcPort: number;
  readonly restPort: number;
}

/** Sent with each request over REST; must show up nowhere. */
export const ACCESS_TOKEN = "ya29.secret-access-token-of-the-tests";

/** How soon gRPC connects again, the first time. Milliseconds. */
const RECONNECT_MS = 100;

export interface ClientKind {
  readonly label: string;
  readonly version: 5 | 6;
  readonly transport: "grpc" | "rest";
  /** A client as a user would make it, without retries of ours in it. */
  connect(ports: Ports): GcpKmsClientLike & { close(): Promise<void> };
}

const require = createRequire(import.meta.url);

export function clientKind(version: 5 | 6, transport: "grpc" | "rest"): ClientKind {
  const Client = version === 5 ? Client5 : Client6;
  // Credentials must come from the copies that the client itself uses.
  const { grpc, googleAuthLibrary } = createRequire(
    require.resolve(version === 5 ? "google-cloud-kms-5" : "@google-cloud/kms"),
  )("google-gax") as typeof import("google-gax");
  return {
    label: `@google-cloud/kms ${version}, ${transport}`,
    version,
    transport,
    connect: ({ host, grpcPort, restPort }) => {
      if (transport === "grpc") {
        return new Client({
          apiEndpoint: host,
          port: grpcPort,
          sslCreds: grpc.credentials.createInsecure(),
          // A second by default, which every test with an outage would wait for.
          "grpc.initial_reconnect_backoff_ms": RECONNECT_MS,
          authClient: new googleAuthLibrary.PassThroughClient() as never,
        });
      }
      const authClient = new googleAuthLibrary.OAuth2Client();
      authClient.setCredentials({ access_token: ACCESS_TOKEN, expiry_date: Date.now() + 3_600_000 });
      return new Client({
        fallback: true,
        protocol: "http",
        apiEndpoint: host,
        port: restPort,
        authClient: authClient as never,
      });
    },
  };
}

/** Both supported versions of the client, over both transports. */
export const CLIENTS: readonly ClientKind[] = [
  clientKind(6, "grpc"),
  clientKind(6, "rest"),
  clientKind(5, "grpc"),
  clientKind(5, "rest"),
];
