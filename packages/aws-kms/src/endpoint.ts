import { ConfigurationError } from "@signpost/core";
import { isLoopbackHost, readEndpoint, type ServiceEndpoint } from "@signpost/core/adapter";

/**
 * Reads a VPC endpoint, a private one, or an emulator on the loopback interface. There is one scheme for each host, since
 * the host alone says in a key URI how it is reached: https on the loopback interface is refused too.
 */
export function parseEndpoint(argument: string, value: unknown): ServiceEndpoint {
  const endpoint = readEndpoint(argument, value);
  if (endpoint.plaintext || !isLoopbackHost(endpoint.hostname)) return endpoint;
  throw new ConfigurationError(argument, "expected http on the loopback interface, since a key URI cannot say https");
}

/** The endpoint that the host part of a key URI names: https, and http for loopback. */
export function endpointFromHost(argument: string, host: string): ServiceEndpoint {
  const { hostname } = URL.canParse(`https://${host}`) ? new URL(`https://${host}`) : { hostname: "" };
  const isLoopback = isLoopbackHost(hostname);
  // Two slashes instead of three would make a host of the key's first part, as in awskms://alias/op.
  if (!isLoopback && !hostname.includes(".")) {
    throw new ConfigurationError(argument, "expected three slashes before the key, or a host name with a dot");
  }
  return parseEndpoint(argument, `${isLoopback ? "http" : "https"}://${host}`);
}
