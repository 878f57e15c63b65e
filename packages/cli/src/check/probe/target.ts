import { ConfigurationError } from "@signpost/core";

/** What is checked. */
export interface Target {
  readonly kind: "jwks" | "issuer" | "unknown";
  /** The URL as it was given. */
  readonly url: string;
  readonly issuer: string;
  /** Where the discovery documents of the issuer are. */
  readonly documents: readonly DocumentPlace[];
  /** Whether the caller says that it is a key set, or the last segment of its path is a usual name of one. */
  readonly looksLikeKeySet: boolean;
}

/** A discovery document and its URL. */
export interface DocumentPlace {
  readonly document: "openid-configuration" | "oauth-authorization-server";
  readonly url: string;
}

const OPENID = "/.well-known/openid-configuration";
const OAUTH = "/.well-known/oauth-authorization-server";

/** Reads the URL that was given: of an issuer, of a discovery document, or of a key set. */
export function readTarget(value: string, isKeySet: boolean): Target {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new ConfigurationError("url", "expected the https URL of an issuer or a key set, such as https://op.example");
  }
  if (url.username !== "" || url.password !== "")
    throw new ConfigurationError("url", "expected a URL without credentials");
  // An empty fragment too, which is no part of an issuer (OpenID Connect Discovery 1.0 section 3).
  if (url.href.includes("#")) throw new ConfigurationError("url", "expected a URL without a fragment");
  const issuer = issuerOf(url, value);
  const isDocument = issuer !== value;
  return {
    kind: isKeySet ? "jwks" : isDocument ? "issuer" : "unknown",
    url: isDocument || isKeySet ? url.href : value,
    issuer,
    documents: documentsOf(issuer),
    looksLikeKeySet: isKeySet || /(?:jwk|key|cert)[^/]*$/i.test(url.pathname),
  };
}

/** The issuer of a discovery document. For any other URL, that URL. */
function issuerOf({ origin, pathname, search }: URL, value: string): string {
  if (search !== "") return value;
  if (pathname.endsWith(OPENID)) return origin + pathname.slice(0, -OPENID.length);
  return pathname.startsWith(`${OAUTH}/`) || pathname === OAUTH ? origin + pathname.slice(OAUTH.length) : value;
}

/** OpenID Connect Discovery section 4.1 appends the path of the document, and RFC 8414 section 3.1 puts it before the issuer's own. */
function documentsOf(issuer: string): readonly DocumentPlace[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    { document: "openid-configuration", url: origin + path + OPENID },
    { document: "oauth-authorization-server", url: origin + OAUTH + path },
  ];
}
