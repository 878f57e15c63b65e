import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { isLoopbackHost } from "../loopback-host.ts";

/** The address of a service. */
export interface ServiceEndpoint {
  /** Scheme, host and port: `https://kms.example.com`, `http://127.0.0.1:4566`. */
  readonly url: string;
  /** Host, and the port unless it is the scheme's default: `kms.example.com`, `127.0.0.1:4566`. */
  readonly host: string;
  /** Host without the port. An IPv6 address is in brackets. */
  readonly hostname: string;
  /** Port. If the URL has none, the scheme's default. */
  readonly port: number;
  /** True for `http:`, which is accepted on the loopback interface, and for other hosts only with `allowInsecure`. */
  readonly plaintext: boolean;
}

/** Which endpoints are accepted. */
export interface EndpointRules {
  /** Accepts `http:` to any host, for an emulator in another container. Default false. */
  readonly allowInsecure?: boolean | undefined;
  /** The option that accepts it, for the message of a refusal. Default: there is none. */
  readonly insecureOption?: string | undefined;
}

const EXPECTED = "expected https://HOST[:PORT], or http://HOST[:PORT] on the loopback interface";

/**
 * Reads the endpoint of a service: `https://HOST[:PORT]` for a private endpoint, `http://HOST[:PORT]` for an emulator on
 * the loopback interface. Digests and credentials must not be sent in the clear, so plain HTTP to any other host is
 * refused unless the rules allow it.
 *
 * @throws ConfigurationError that names the option.
 * @example
 * ```ts
 * import { readEndpoint } from "@signpost/core/adapter";
 *
 * const { hostname, port } = readEndpoint("endpoint", "http://127.0.0.1:4566");
 * ```
 */
export function readEndpoint(name: string, value: unknown, rules: EndpointRules = {}): ServiceEndpoint {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.host === "") {
    throw new ConfigurationError(
      name,
      `${EXPECTED}, got ${url === undefined ? given(value) : "a URL of another kind"}`,
    );
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new ConfigurationError(name, `${EXPECTED}, without path, query or user`);
  }
  const plaintext = url.protocol === "http:";
  if (plaintext && !isLoopbackHost(url.hostname) && rules.allowInsecure !== true) {
    const option = rules.insecureOption === undefined ? "" : `, or ${rules.insecureOption}: true`;
    throw new ConfigurationError(name, `${EXPECTED}${option}, got ${url.origin}`);
  }
  const port = Number(url.port || (plaintext ? 80 : 443));
  return { url: url.origin, host: url.host, hostname: url.hostname, port, plaintext };
}
