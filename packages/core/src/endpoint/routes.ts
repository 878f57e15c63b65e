import { ConfigurationError } from "../errors.ts";
import { isLoopbackHost } from "../loopback-host.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readFlag } from "../options/read-values.ts";

/** Where the endpoint is: the issuer, and the path below it. */
export interface RouteOptions {
  /**
   * The issuer of the OP, exactly as it stands in its tokens: `https:`, without query and fragment. Its own path is
   * kept. `http:` is accepted for loopback hosts.
   */
  readonly issuer: string;
  /** Accepts any `http:` issuer. Default false (OpenID Connect Discovery 1.0 section 3 and RFC 8414 section 2 ask for https). */
  readonly allowInsecureIssuer?: boolean | undefined;
  /** Where the OP's routes are mounted: empty (the default) or like `/oidc`. */
  readonly mountPrefix?: string | undefined;
  /** The paths of the OP's routes under the mount prefix. */
  readonly endpoints?: EndpointPaths | undefined;
}

/** The paths of the OP's routes under the mount prefix. */
export interface EndpointPaths {
  /** The path of the key set. Default `/jwks`. */
  readonly jwks?: string | undefined;
}

export const ROUTE_OPTIONS: OptionNames<RouteOptions> = {
  issuer: true,
  allowInsecureIssuer: true,
  mountPrefix: true,
  endpoints: true,
};

/** The three places of the endpoint: of the RP, of a server at the root of its host, of a router below the issuer's path. */
export interface Routes {
  readonly jwksUri: string;
  readonly pathname: string;
  readonly routePath: string;
}

/** Joins issuer, mount prefix and path as they are: what is published must be what RPs request, byte for byte. */
export function resolveRoutes(options: RouteOptions): Routes {
  const base = readIssuer(options.issuer, readFlag("allowInsecureIssuer", options.allowInsecureIssuer));
  const { mountPrefix = "", endpoints = {} } = options;
  assertOptions<EndpointPaths>("endpoints", endpoints, { jwks: true });
  const { jwks = "/jwks" } = endpoints;
  if (mountPrefix !== "") requirePath("mountPrefix", mountPrefix);
  requirePath("endpoints.jwks", jwks);
  const routePath = mountPrefix + jwks;
  const jwksUri = base + routePath;
  // What the issuer's own path and the route are made of is never escaped or resolved by the parser.
  return { jwksUri, pathname: new URL(jwksUri).pathname, routePath };
}

// Unreserved characters and the few of RFC 3986's `pchar` that no router reads as a pattern: `:`, `*`, `(`, `)`,
// `+`, `!`, `{` and `}` are a parameter, a wildcard or a group in one of them.
const SEGMENT = /^[A-Za-z0-9\-._~@$&,;=]+$/;

function requirePath(name: string, value: unknown): asserts value is string {
  if (typeof value !== "string") throw new ConfigurationError(name, "expected a path like /jwks");
  const segments = value.split("/");
  // An absolute path begins with an empty piece; any other empty piece is `//` or a trailing slash.
  const absolute = segments.length > 1 && segments[0] === "";
  if (absolute && segments.slice(1).every(isPlainSegment)) return;
  throw new ConfigurationError(
    name,
    "expected a path like /jwks: it starts with a slash, does not end with one, has no empty, `.` or `..` segment, " +
      "no query, fragment, percent escape or router pattern",
  );
}

function isPlainSegment(segment: string): boolean {
  return SEGMENT.test(segment) && segment !== "." && segment !== "..";
}

/** The issuer without one trailing slash. */
function readIssuer(issuer: unknown, allowInsecure: boolean): string {
  // `new URL` alone is too kind: it trims, drops tabs, turns backslashes into slashes and escapes the rest. The two
  // parts cannot share a character, so that a long text is read once.
  const parts =
    typeof issuer === "string"
      ? /^https?:\/\/([^/?#]+)((?:[/?#](?:[!$&-;=?#@-Z_a-z~]|%[0-9a-f]{2})*)?)$/i.exec(issuer)
      : null;
  if (typeof issuer !== "string" || parts === null || !URL.canParse(issuer)) {
    throw new ConfigurationError("issuer", "expected an absolute https URL like https://op.example");
  }
  const [, authority = "", rest = ""] = parts;
  if (/[?#]/.test(rest)) throw new ConfigurationError("issuer", "expected no query and no fragment");
  if (authority.includes("@")) throw new ConfigurationError("issuer", "expected no user name and no password");
  if (!/^[A-Za-z0-9\-._~:[\]]+$/.test(authority)) {
    throw new ConfigurationError("issuer", "expected a host name in ASCII (a name in another script in its xn-- form)");
  }
  const url = new URL(issuer);
  // A parser that resolves `.`, `..` or `%2e` would request another path than the one that is published.
  if (rest.includes("//") || url.pathname !== (rest === "" ? "/" : rest)) {
    throw new ConfigurationError("issuer", "expected a path without empty, `.` and `..` segments");
  }
  if (url.protocol === "http:" && !allowInsecure && !isLoopbackHost(url.hostname)) {
    throw new ConfigurationError("issuer", "expected https; http is for loopback hosts, or with allowInsecureIssuer");
  }
  return issuer.endsWith("/") ? issuer.slice(0, -1) : issuer;
}
