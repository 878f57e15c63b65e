import { ConfigurationError } from "@signpost/core";
import { isLoopbackHost } from "@signpost/core/adapter";

const EXPECTED =
  "expected https://HOST[:PORT], or http://HOST[:PORT] on the loopback interface, without path, query or user";

/** An endpoint in the two forms in which it is written. */
export interface KmsEndpoint {
  /** `https://kms.example.com`, `http://127.0.0.1:4566`. */
  readonly url: string;
  /** The host part of a key URI: `kms.example.com`, `127.0.0.1:4566`. */
  readonly host: string;
}

/** Reads a VPC endpoint, a private one, or an emulator on the loopback interface. Digests do not travel in the clear. */
export function parseEndpoint(argument: string, endpoint: unknown): KmsEndpoint {
  const url = typeof endpoint === "string" && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  const plain = url?.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  if (url === undefined || !plain || url.password !== "" || url.protocol !== schemeFor(url.hostname)) {
    throw new ConfigurationError(argument, EXPECTED);
  }
  return { url: url.origin, host: url.host };
}

/** The endpoint that the host part of a key URI names: https, and http for loopback. */
export function endpointFromHost(argument: string, host: string): KmsEndpoint {
  const { hostname } = URL.canParse(`https://${host}`) ? new URL(`https://${host}`) : { hostname: "" };
  // Two slashes instead of three would make a host of the key's first part, as in awskms://alias/op.
  if (!isLoopbackHost(hostname) && !hostname.includes(".")) {
    throw new ConfigurationError(argument, "expected three slashes before the key, or a host name with a dot");
  }
  return parseEndpoint(argument, `${schemeFor(hostname)}//${host}`);
}

// One scheme for each host, so that the host alone says in a URI how it is reached.
function schemeFor(hostname: string): "https:" | "http:" {
  return isLoopbackHost(hostname) ? "http:" : "https:";
}
