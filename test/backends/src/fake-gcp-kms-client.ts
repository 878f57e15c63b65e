import { KeyManagementServiceClient } from "@google-cloud/kms";
import { googleAuthLibrary, grpc } from "google-gax";

/** Where a fake or an emulator listens. */
export interface GcpKmsPorts {
  readonly host: string;
  readonly grpcPort: number;
  readonly restPort: number;
}

/** The client alone, without our code around it, connected to a fake or an emulator. */
export function connectGcpKmsClient(
  { host, grpcPort, restPort }: GcpKmsPorts,
  transport: "grpc" | "rest" = "grpc",
): KeyManagementServiceClient {
  const authClient = new googleAuthLibrary.PassThroughClient();
  return transport === "rest"
    ? new KeyManagementServiceClient({
        fallback: true,
        protocol: "http",
        apiEndpoint: host,
        port: restPort,
        authClient,
      })
    : new KeyManagementServiceClient({
        apiEndpoint: host,
        port: grpcPort,
        sslCreds: grpc.credentials.createInsecure(),
        authClient,
      });
}
