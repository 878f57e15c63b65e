import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A container's source of AWS credentials, as ECS and EKS Pod Identity have it. */
export interface CredentialEndpoint {
  /** The access key of the next answers. */
  accessKeyId: string;
  /** Whether requests are never answered. */
  hangs: boolean;
  readonly url: string;
  connections(): number;
  stop(): Promise<void>;
}

export async function startCredentialEndpoint(): Promise<CredentialEndpoint> {
  let connections = 0;
  const server = createServer((_request, response) => {
    if (endpoint.hangs) return;
    const Expiration = new Date(Date.now() + 12 * 3_600_000).toISOString();
    const { accessKeyId } = endpoint;
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ AccessKeyId: accessKeyId, SecretAccessKey: "of a campaign", Token: "token", Expiration }),
    );
  });
  server.on("connection", (socket) => {
    connections += 1;
    socket.once("close", () => (connections -= 1));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endpoint: CredentialEndpoint = {
    accessKeyId: "AKIAFAULTS00000000",
    hangs: false,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/credentials`,
    connections: () => connections,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return endpoint;
}
