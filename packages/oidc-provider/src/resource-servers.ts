import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import type { HostAlgorithms } from "./host-algorithms.ts";
import { type OidcProviderSigningLike, type RequestContext, requestContext } from "./host.ts";

/** What is read of the host's `ResourceServer`: how the JWT access tokens for it are signed. */
interface ResourceServerInfo {
  readonly accessTokenFormat?: unknown;
  readonly jwt?: { readonly sign?: JwtSigning | false; readonly encrypt?: JwtEncryption | false };
}

interface JwtSigning {
  readonly alg?: unknown;
  readonly kid?: unknown;
  readonly key?: unknown;
}

interface JwtEncryption {
  readonly key?: { readonly type?: unknown };
}

/** The host's own `features.resourceIndicators.getResourceServerInfo`. */
export type ResourceServerInfoFunction = (context: never, resource: string, client: never) => unknown;

export interface SigningAbilities {
  /** The kid under which tokens are signed now. */
  readonly activeKid: () => string;
  readonly host: HostAlgorithms;
  /** The host's error for a failure to sign. */
  readonly failure: (cause: unknown) => Error;
}

/**
 * Has the provider refuse a resource server whose tokens cannot be signed as soon as it reads of it, which is at the
 * authorization request. The host itself finds out when it signs, and the code is spent by then.
 */
export function requireSignableResourceServers(provider: OidcProviderSigningLike, abilities: SigningAbilities): void {
  const value = new Proxy(provider.ResourceServer, {
    construct: (target, [identifier, info]: [string, ResourceServerInfo], newTarget) => {
      const jwt = signableJwt(identifier, info, abilities);
      const made = Reflect.construct(target, [identifier, info], newTarget) as object;
      // What the OP gives may be an object of a class: it is handed on as it is, and not copied.
      return jwt === info.jwt ? made : Object.assign(made, { jwt });
    },
  });
  Object.defineProperty(provider, "ResourceServer", { value, configurable: true });
}

/**
 * Asks for the resource server of a code or refresh token before it is spent: it may be older than the resource
 * server's present algorithm.
 */
export function checkBeforeSpending(
  provider: OidcProviderSigningLike,
  abilities: SigningAbilities,
  getResourceServerInfo: ResourceServerInfoFunction,
): void {
  const { AuthorizationCode, RefreshToken, DeviceCode, BackchannelAuthenticationRequest, PreAuthorizedCode } = provider;
  const models = [AuthorizationCode, RefreshToken, DeviceCode, BackchannelAuthenticationRequest, PreAuthorizedCode];
  const check = async (context: RequestContext, granted: unknown): Promise<void> => {
    const requested = context.oidc?.params?.["resource"];
    const asked = requested ?? granted;
    // Of several, the host picks one by a function of the OP's.
    const identifier: unknown = Array.isArray(asked) && asked.length === 1 ? asked[0] : asked;
    // What was not granted is refused by the host, and the OP's function is never asked about it.
    if (typeof identifier !== "string" || ![granted].flat().includes(identifier)) return;
    let info: unknown;
    try {
      info = await getResourceServerInfo(context as never, identifier, context.oidc?.client as never);
    } catch (error) {
      // Where none is requested the host may make a token for userinfo, without a question about one that is no more.
      if (requested === undefined) return;
      throw error;
    }
    // What is no object is refused by the host.
    if (typeof info === "object" && info !== null) signableJwt(identifier, info, abilities);
  };
  for (const model of models) {
    const prototype = model.prototype as Consumable;
    const { consume } = prototype;
    prototype.consume = async function consumeChecked() {
      const context = requestContext(provider);
      if (context !== undefined) await check(context, this.resource);
      return consume.call(this);
    };
  }
}

interface Consumable {
  consume(this: { readonly resource?: unknown }): Promise<void>;
}

type Jwt = ResourceServerInfo["jwt"];

/** How the host is to sign tokens for it: as the OP says, with ES256 where that says nothing. Throws where it cannot. */
function signableJwt(identifier: string, info: ResourceServerInfo, abilities: SigningAbilities): Jwt {
  const { jwt } = info;
  if (info.accessTokenFormat !== "jwt") return jwt;
  const refused = (problem: string): Error =>
    abilities.failure(new ConfigurationError("getResourceServerInfo", `${problem}, for ${identifier}`));
  if (!jwt?.sign && jwt?.encrypt) {
    if (jwt.encrypt.key?.type !== "public") return jwt;
    throw refused("expected jwt.sign too: the host encrypts to a public key only what it has signed");
  }
  const { alg, kid, key } = jwt?.sign || {};
  // The host's default is that of ID tokens. Where all its keys are ours, it can only mean this one.
  const ours = alg === undefined && key === undefined && abilities.host.hasNone();
  const problem = signingProblem({ alg: ours ? "ES256" : alg, kid, key }, abilities);
  if (problem !== undefined) throw refused(problem);
  return ours ? { ...jwt, sign: { ...jwt?.sign, alg: "ES256" } } : jwt;
}

const HMAC = new Set(["HS256", "HS384", "HS512"]);

function signingProblem({ alg, kid, key }: JwtSigning, { activeKid, host }: SigningAbilities): string | undefined {
  if (alg === undefined) {
    // The host's own default, by the key that is named.
    if (typeof kid !== "string" || host.mayName(kid)) return undefined;
    return `expected no jwt.sign.kid, or that of a published key, got ${JSON.stringify(kid)}`;
  }
  if (typeof alg !== "string") return `expected jwt.sign.alg "ES256", got ${given(alg)}`;
  if (HMAC.has(alg)) return key ? undefined : "expected jwt.sign.key, which HMAC needs";
  if (alg !== "ES256") {
    if (host.signs(alg, kid) !== false) return undefined;
    const named = kid === undefined ? "" : ` and jwt.sign.kid ${JSON.stringify(kid)}`;
    return `expected jwt.sign.alg "ES256", got ${JSON.stringify(alg)}${named}, for which no published key is here`;
  }
  if (kid === undefined || kid === activeKid()) return undefined;
  return `expected no jwt.sign.kid, or the active key's, got ${JSON.stringify(kid)}`;
}
