import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigurationError } from "@signpost/core";

/** An HTTP server that is open. */
export interface HttpPort {
  /** `http://127.0.0.1:8081` */
  readonly origin: string;
  /** Its JSON path in the configuration. */
  readonly place: string;
  close(): Promise<void>;
}

export interface HttpPlace {
  /** Its JSON path, for messages. */
  readonly place: string;
  readonly host: string;
  readonly port: number;
}

const MAX_CONNECTIONS = 1000;
const MAX_HEADER_BYTES = 8192;
const HEADERS_MS = 5000;
const REQUEST_MS = 10_000;
/** A client that does not read what it asked for. */
const STALLED_MS = 15_000;

/** Opens a port. Clients cannot make it wait, or keep much of it. */
export async function openHttpPort({ place, host, port }: HttpPlace, answer: RequestListener): Promise<HttpPort> {
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
    (request, response) => {
      // The body of a GET means nothing.
      request.resume();
      answer(request, response);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = STALLED_MS;
  server.listen({ host, port });
  await once(server, "listening").catch((cause: unknown) => {
    const code = String(Reflect.get(Object(cause), "code"));
    throw new ConfigurationError(place, `cannot listen there (${code}); port 0 takes a free one`, { cause });
  });
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    place,
    origin: `http://${name}:${address.port}`,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
