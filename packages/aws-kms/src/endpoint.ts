import { ConfigurationError } from "@signpost/core";
import { isLoopbackHost, readEndpoint, type ServiceEndpoint } from "@signpost/core/adapter";

/** An endpoint that is called. */
export interface EndpointInForce extends ServiceEndpoint {
  /** Whether a key URI can name it: one with a path is too long for that. */
  readonly inUri: boolean;
}

/** The scheme of a host in a key URI that names none. */
function defaultScheme(hostname: string): "http" | "https" {
  return isLoopbackHost(hostname) ? "http" : "https";
}

/** Reads a VPC endpoint, a private one, or an emulator: on the loopback interface, or elsewhere where that is allowed. */
export function parseEndpoint(argument: string, value: unknown, allowInsecure: boolean): ServiceEndpoint {
  try {
    return readEndpoint(argument, value, { allowInsecure });
  } catch (error) {
    throw isInsecure(value, error) ? insecure(argument, "") : error;
  }
}

/** The endpoint that the host part of a key URI names: https, and http for loopback, unless the URI says which. */
export function endpointFromHost(
  argument: string,
  host: string,
  scheme: "http" | "https" | undefined,
  allowInsecure: boolean,
): ServiceEndpoint {
  const { hostname, port } = URL.canParse(`https://${host}`) ? new URL(`https://${host}`) : { hostname: "", port: "" };
  // Two slashes instead of three would make a host of the key's first part, as in awskms://alias/op.
  if (scheme === undefined && isLikeKeyPart(hostname, port !== "")) {
    throw new ConfigurationError(argument, "expected three slashes before the key, or a host name with a dot");
  }
  return parseEndpoint(argument, `${scheme ?? defaultScheme(hostname)}://${host}`, allowInsecure);
}

/** Whether the host of an endpoint is read as that endpoint in a key URI that names no scheme. */
export function isReadWithoutScheme({ hostname, host, plaintext }: ServiceEndpoint): boolean {
  return plaintext === (defaultScheme(hostname) === "http") && !isLikeKeyPart(hostname, host !== hostname);
}

/** Whether a host may as well be the first part of a key. */
function isLikeKeyPart(hostname: string, hasPort: boolean): boolean {
  return !isLoopbackHost(hostname) && !hostname.includes(".") && !hasPort;
}

/** Checks the endpoint that the SDK found, which may have a path. `source` says where it stands. */
export function readConfiguredEndpoint(value: string, source: string, allowInsecure: boolean): EndpointInForce {
  const { origin, pathname } = new URL(value);
  const path = pathname === "/" ? "" : pathname;
  try {
    const endpoint = readEndpoint("endpoint", origin, { allowInsecure });
    return { ...endpoint, url: `${endpoint.url}${path}`, inUri: path === "" };
  } catch (error) {
    if (isInsecure(origin, error)) throw insecure("endpoint", `, got ${origin}, ${source}`);
    throw new ConfigurationError("endpoint", `expected an https: or http: address with a host, ${source}`);
  }
}

function isInsecure(value: unknown, error: unknown): boolean {
  return error instanceof ConfigurationError && typeof value === "string" && /^http:/i.test(value);
}

function insecure(argument: string, got: string): ConfigurationError {
  return new ConfigurationError(
    argument,
    `expected https://HOST[:PORT], or http://HOST[:PORT] on the loopback interface, or allowInsecureEndpoint: true${got}`,
  );
}
