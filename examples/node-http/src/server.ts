import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createJwksEndpoint, type OwnKeys } from "@signpost/core";

export interface Settings {
  readonly issuer: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** A rotation schedule, or a key set. */
  readonly keys: OwnKeys;
}

export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function start({ issuer, port, keys }: Settings): Promise<RunningServer> {
  const endpoint = createJwksEndpoint({ issuer, keys });
  // OpenID Connect Discovery 1.0 section 4: below the issuer's own path.
  const discoveryUrl = new URL(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  const discovery = JSON.stringify({ issuer, ...endpoint.metadata });

  const server = createServer((request, response) => {
    if (endpoint.matches(request.url)) return endpoint.listener(request, response);
    // Also the absolute form of the target, which every server must accept (RFC 9112 section 3.2.2).
    if (request.url === discoveryUrl.pathname || request.url === discoveryUrl.href) {
      return response.setHeader("Content-Type", "application/json").end(discovery);
    }
    return response.writeHead(404).end();
  });
  server.listen(port);
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      // A busy connection would stay open for as long as its client sends requests.
      server.prependListener("request", (_request, response) => void response.setHeader("Connection", "close"));
      server.close();
      server.closeIdleConnections();
      // Node does not count a connection without a request as idle, and would wait for it forever.
      setTimeout(() => server.closeAllConnections(), 5000).unref();
      await closed;
    },
  };
}
