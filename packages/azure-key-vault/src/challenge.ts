import { isLoopbackHost } from "@signpost/core/adapter";

/** What a `WWW-Authenticate` header asks for. */
export interface Challenge {
  /** The scope of the token. */
  readonly scope: string | undefined;
  readonly tenantId: string | undefined;
  /** The claims that the last token lacked. JSON. */
  readonly claims: string | undefined;
}

/** Longer headers are not read. */
const MAX_LENGTH = 16_384;
const PARAMETER = /([A-Za-z_]+)="([^"]*)"/g;
const TENANT = /^[0-9A-Za-z][0-9A-Za-z.-]{0,127}$/;

/** Reads the first Bearer challenge of a header. Undefined if there is none. */
export function parseChallenge(header: string | readonly string[] | undefined): Challenge | undefined {
  const text = typeof header === "string" ? header : (header ?? []).join(", ");
  if (text.length > MAX_LENGTH) return undefined;
  // A challenge begins with the name of its scheme: `Bearer realm="", …, PoP realm="", …`.
  const bearer = text.split(/,\s*(?=[A-Za-z]+\s+[A-Za-z_]+=")/).find((each) => /^\s*Bearer\s/i.test(each));
  if (bearer === undefined) return undefined;
  const found = new Map<string, string>();
  for (const [, name = "", value = ""] of bearer.matchAll(PARAMETER)) {
    if (!found.has(name)) found.set(name, value);
  }
  const resource = found.get("resource")?.replace(/\/$/, "");
  return {
    scope: resource === undefined || resource === "" ? found.get("scope") : `${resource}/.default`,
    tenantId: tenantIn(found.get("authorization") ?? found.get("authorization_uri")),
    claims: found.get("error") === "insufficient_claims" ? decode(found.get("claims")) : undefined,
  };
}

/** What an authority says in place of a tenant. */
const NO_TENANT: readonly string[] = ["common", "organizations", "consumers"];

/** The first segment of the authority's path. */
function tenantIn(authority: string | undefined): string | undefined {
  if (authority === undefined || !URL.canParse(authority)) return undefined;
  const [, tenant = ""] = new URL(authority).pathname.split("/");
  return TENANT.test(tenant) && !NO_TENANT.includes(tenant) ? tenant : undefined;
}

function decode(claims: string | undefined): string | undefined {
  const text = Buffer.from(claims ?? "", "base64").toString("utf8");
  return text === "" ? undefined : text;
}

/**
 * Whether the resource of a scope covers a host: it is the host, or a domain above it. Otherwise anything that answers under
 * any name could ask for a token that is good for all vaults.
 */
export function covers(scope: string, hostname: string): boolean {
  if (!URL.canParse(scope)) return false;
  const { protocol, hostname: resource } = new URL(scope);
  if (protocol !== "https:" || resource === "") return false;
  if (resource === hostname) return true;
  const isDomain = resource.includes(".") && !/^[\d.]+$/.test(resource) && !isLoopbackHost(hostname);
  return isDomain && hostname.endsWith(`.${resource}`);
}
