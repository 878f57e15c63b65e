import { isLoopbackHost } from "@signpost/core/adapter";
import { readAuthChallenges } from "./auth-header.ts";

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
const TENANT = /^[0-9A-Za-z][0-9A-Za-z.-]{0,127}$/;

/**
 * Reads the Bearer challenge of a header. Of several, the first that asks for something. Undefined if there is none.
 */
export function parseChallenge(header: string | readonly string[] | undefined): Challenge | undefined {
  const text = typeof header === "string" ? header : (header ?? []).join(", ");
  if (text.length > MAX_LENGTH) return undefined;
  const found = readAuthChallenges(text)
    .filter(({ scheme }) => scheme === "bearer")
    .map(({ parameters }) => challengeOf(parameters));
  return found.find(({ scope, claims }) => scope !== undefined || claims !== undefined) ?? found[0];
}

function challengeOf(parameters: ReadonlyMap<string, string>): Challenge {
  return {
    scope: scopeOfResource(parameters.get("resource")) ?? textOrNone(parameters.get("scope")),
    tenantId: tenantIn(parameters.get("authorization") ?? parameters.get("authorization_uri")),
    claims: parameters.get("error") === "insufficient_claims" ? decode(parameters.get("claims")) : undefined,
  };
}

function scopeOfResource(resource: string | undefined): string | undefined {
  const text = textOrNone(resource?.replace(/\/(?:\.default)?$/, ""));
  return text === undefined ? undefined : `${text}/.default`;
}

function textOrNone(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

/** What an authority says in place of a tenant. */
const NO_TENANT: readonly string[] = ["common", "organizations", "consumers"];

/** The first segment of the authority's path. */
function tenantIn(authority: string | undefined): string | undefined {
  if (authority === undefined || !URL.canParse(authority)) return undefined;
  const [, tenant = ""] = new URL(authority).pathname.split("/");
  return TENANT.test(tenant) && !NO_TENANT.includes(tenant) ? tenant : undefined;
}

/** The service sends base64. Anything else than JSON would only make a credential fail. */
function decode(claims: string | undefined): string | undefined {
  const text = Buffer.from(claims ?? "", "base64").toString("utf8");
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null ? text : undefined;
  } catch {
    return undefined;
  }
}

/** One scope and nothing else. A user, a query or a second scope would mean another resource to another parser. */
const SCOPE = /^https:\/\/(?:[0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:\/[0-9A-Za-z._~-]*)*$/;

/**
 * Whether the resource of a scope covers a host: it is the host, or a domain above it. Otherwise anything that answers under
 * any name could ask for a token that is good for all vaults.
 */
export function covers(scope: string, hostname: string): boolean {
  if (!SCOPE.test(scope) || !URL.canParse(scope)) return false;
  const { hostname: resource } = new URL(scope);
  if (resource === hostname) return true;
  const isDomain = resource.includes(".") && !/^[\d.]+$/.test(resource) && !isLoopbackHost(hostname);
  return isDomain && hostname.endsWith(`.${resource}`);
}
