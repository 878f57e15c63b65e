import { ConfigurationError } from "@signpost/core";
import { isLoopbackHost, readEndpoint, textMember, type ServiceEndpoint } from "@signpost/core/adapter";

/** The endpoint that is called. */
export interface EndpointInForce extends ServiceEndpoint {
  /** Whether a key URI can name it. An endpoint with a path does not fit. */
  readonly inUri: boolean;
}

/** The scheme for a host in a key URI without `scheme=`. */
function defaultScheme(hostname: string): "http" | "https" {
  return isLoopbackHost(hostname) ? "http" : "https";
}

/** Reads a VPC endpoint, a private one, or an emulator: on the loopback interface, or elsewhere if that is allowed. */
export function parseEndpoint(argument: string, value: unknown, allowInsecure: boolean): ServiceEndpoint {
  return readEndpoint(argument, value, { allowInsecure, insecureOption: "allowInsecureEndpoint" });
}

/** The endpoint for the host of a key URI: https, or http on the loopback interface, unless `scheme` says otherwise. */
export function endpointFromHost(
  argument: string,
  host: string,
  scheme: "http" | "https" | undefined,
  allowInsecure: boolean,
): ServiceEndpoint {
  const { hostname, port } = URL.canParse(`https://${host}`) ? new URL(`https://${host}`) : { hostname: "", port: "" };
  // With two slashes instead of three, the first part of the key would be the host, as in awskms://alias/op.
  if (scheme === undefined && isLikeKeyPart(hostname, port !== "")) {
    throw new ConfigurationError(argument, "expected three slashes before the key, or a host name with a dot");
  }
  return parseEndpoint(argument, `${scheme ?? defaultScheme(hostname)}://${host}`, allowInsecure);
}

/** Whether a key URI with this host and no scheme leads to this endpoint. */
export function isReadWithoutScheme({ hostname, host, plaintext }: ServiceEndpoint): boolean {
  return plaintext === (defaultScheme(hostname) === "http") && !isLikeKeyPart(hostname, host !== hostname);
}

/** Whether a host could also be the first part of a key. */
function isLikeKeyPart(hostname: string, hasPort: boolean): boolean {
  return !isLoopbackHost(hostname) && !hostname.includes(".") && !hasPort;
}

/** Checks the endpoint that the SDK found, which may have a path. `source` says where the SDK found it. */
export function readConfiguredEndpoint(value: string, source: string, allowInsecure: boolean): EndpointInForce {
  const { origin, pathname } = new URL(value);
  const path = pathname === "/" ? "" : pathname;
  try {
    const endpoint = parseEndpoint("endpoint", origin, allowInsecure);
    return { ...endpoint, url: `${endpoint.url}${path}`, inUri: path === "" };
  } catch (error) {
    const isPlaintext = origin.startsWith("http:");
    const said = textMember(error, "message").slice("endpoint: ".length);
    const expected = isPlaintext ? said : "expected an https: or http: address with a host";
    throw new ConfigurationError("endpoint", `${expected}, ${source}`);
  }
}
