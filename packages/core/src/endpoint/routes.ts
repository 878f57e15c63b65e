import { ConfigurationError } from "../errors.ts";
import { isLoopbackHost } from "../loopback-host.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { given } from "../given.ts";
import { readFlag } from "../options/read-values.ts";

/** Options for the URL of the endpoint: the issuer, and the path below it. */
export interface RouteOptions {
  /**
   * The issuer of the OP, exactly as in its tokens: an `https:` URL without query or fragment. It may have a path. `http:` is
   * only accepted for loopback hosts.
   */
  readonly issuer: string;
  /** Accepts any `http:` issuer. Default false (OpenID Connect Discovery 1.0 section 3 and RFC 8414 section 2 require https). */
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

/** The endpoint's address for RPs, for a server at the root of its host, and for a router below the issuer's path. */
export interface Routes {
  readonly jwksUri: string;
  readonly pathname: string;
  readonly routePath: string;
}

/** Joins issuer, mount prefix and path unchanged: the published URL must be what RPs request, byte for byte. */
export function resolveRoutes(options: RouteOptions): Routes {
  const base = readIssuer(options.issuer, readFlag("allowInsecureIssuer", options.allowInsecureIssuer));
  const { mountPrefix = "", endpoints = {} } = options;
  assertOptions<EndpointPaths>("endpoints", endpoints, { jwks: true });
  const { jwks = "/jwks" } = endpoints;
  if (mountPrefix !== "") requirePath("mountPrefix", mountPrefix);
  requirePath("endpoints.jwks", jwks);
  const routePath = mountPrefix + jwks;
  const jwksUri = base + routePath;
  // The parser changes nothing here: the checks above refuse everything that it would escape or resolve.
  return { jwksUri, pathname: new URL(jwksUri).pathname, routePath };
}

// Unreserved characters, and the few others of RFC 3986's `pchar` that no router treats as a pattern. In some router,
// `:`, `*`, `(`, `)`, `+`, `!`, `{` and `}` mean a parameter, a wildcard or a group.
const SEGMENT = /^[A-Za-z0-9\-._~@$&,;=]+$/;

function requirePath(name: string, value: unknown): asserts value is string {
  if (typeof value !== "string") throw new ConfigurationError(name, `expected a path like /jwks, got ${given(value)}`);
  const segments = value.split("/");
  // An absolute path starts with an empty segment. Any other empty segment is `//` or a trailing slash.
  const absolute = segments.length > 1 && segments[0] === "";
  if (absolute && segments.slice(1).every(isPlainSegment)) return;
  throw new ConfigurationError(
    name,
    "expected a path like /jwks: with a leading slash, without a trailing slash, an empty, `.` or `..` segment, " +
      "a query, a fragment, a percent escape or a router pattern",
  );
}

function isPlainSegment(segment: string): boolean {
  return SEGMENT.test(segment) && segment !== "." && segment !== "..";
}

/** The issuer without one trailing slash. */
function readIssuer(issuer: unknown, allowInsecure: boolean): string {
  // `new URL` alone is too lenient: it trims, drops tabs, turns backslashes into slashes and escapes the rest. The two
  // groups share no character, so the pattern cannot backtrack on a long text.
  const parts =
    typeof issuer === "string"
      ? /^https?:\/\/([^/?#]+)((?:[/?#](?:[!$&-;=?#@-Z_a-z~]|%[0-9a-f]{2})*)?)$/i.exec(issuer)
      : null;
  if (typeof issuer !== "string" || parts === null || !URL.canParse(issuer)) {
    throw new ConfigurationError(
      "issuer",
      `expected an absolute https URL like https://op.example, got ${given(issuer)}`,
    );
  }
  const [, authority = "", rest = ""] = parts;
  if (/[?#]/.test(rest)) throw new ConfigurationError("issuer", "must not have a query or a fragment");
  if (authority.includes("@")) throw new ConfigurationError("issuer", "must not have a user name or a password");
  if (!/^[A-Za-z0-9\-._~:[\]]+$/.test(authority)) {
    throw new ConfigurationError("issuer", "expected a host name in ASCII (use the xn-- form for other scripts)");
  }
  const url = new URL(issuer);
  // A client whose parser resolves `.`, `..` or `%2e` would not request the published path.
  if (rest.includes("//") || url.pathname !== (rest === "" ? "/" : rest)) {
    throw new ConfigurationError("issuer", `the path must not have empty, "." or ".." segments, got ${rest}`);
  }
  if (url.protocol === "http:" && !allowInsecure && !isLoopbackHost(url.hostname)) {
    throw new ConfigurationError(
      "issuer",
      `expected https; http needs a loopback host, or allowInsecureIssuer, got ${url.origin}`,
    );
  }
  return issuer.endsWith("/") ? issuer.slice(0, -1) : issuer;
}
