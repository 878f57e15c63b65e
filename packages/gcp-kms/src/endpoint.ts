import { ConfigurationError } from "@signpost/core";
import { isLoopbackHost } from "@signpost/core/adapter";

export interface KmsEndpoint {
  readonly host: string;
  readonly port: number;
  /** Without TLS and without credentials: loopback only. */
  readonly plaintext: boolean;
}

const EXPECTED = "expected https://HOST[:PORT], or http://HOST:PORT on the loopback interface";

/** Reads an endpoint: a private endpoint of the service, or an emulator on the loopback interface. */
export function parseEndpoint(endpoint: string): KmsEndpoint {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.host === "") {
    throw new ConfigurationError("endpoint", EXPECTED);
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new ConfigurationError("endpoint", `${EXPECTED}, without a path, query or user`);
  }
  const plaintext = url.protocol === "http:";
  // Digests and access tokens do not travel in the clear.
  if (plaintext && !isLoopbackHost(url.hostname)) throw new ConfigurationError("endpoint", EXPECTED);
  return { host: url.hostname, port: Number(url.port || (plaintext ? 80 : 443)), plaintext };
}
