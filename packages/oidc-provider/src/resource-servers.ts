import { createSecretKey, type webcrypto } from "node:crypto";
import { types } from "node:util";
import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import type { Spendable } from "./before-spending.ts";
import type { HostAlgorithms } from "./host-algorithms.ts";
import type { OidcProviderSigningLike, RequestContext } from "./host.ts";

/** The parts of the host's `ResourceServer` that say how its JWT access tokens are signed. */
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
  readonly alg?: unknown;
  readonly enc?: unknown;
  readonly kid?: unknown;
  readonly key?: { readonly type?: unknown };
}

/** The host's own `features.resourceIndicators.getResourceServerInfo`. */
export type ResourceServerInfoFunction = (context: never, resource: string, client: never) => unknown;

export interface SigningAbilities {
  /** The kid of the active key. */
  readonly activeKid: () => string;
  readonly host: HostAlgorithms;
  /** The host's error for a failure to sign. */
  readonly failure: (cause: unknown) => Error;
}

/**
 * Makes the provider refuse a resource server whose tokens cannot be signed. It does so when it reads the settings of the
 * resource server, at the authorization request. The host itself only notices when it signs, after the code is used up.
 */
export function requireSignableResourceServers(provider: OidcProviderSigningLike, abilities: SigningAbilities): void {
  const value = new Proxy(provider.ResourceServer, {
    construct: (target, [identifier, info]: [string, ResourceServerInfo], newTarget) => {
      const jwt = signableJwt(identifier, info, abilities);
      const made = Reflect.construct(target, [identifier, info], newTarget) as object;
      // The OP's object may be an instance of a class, so it is passed on, not copied.
      return jwt === info.jwt ? made : Object.assign(made, { jwt });
    },
  });
  Object.defineProperty(provider, "ResourceServer", { value, configurable: true });
}

/**
 * Checks the resource server of a code or refresh token before the token is used up. The resource server may have changed
 * its algorithm since the token was issued. Returns whether the access token may then be signed with ES256, or undefined if
 * there was nothing to ask the OP.
 */
export function resourceServerCheck(
  abilities: SigningAbilities,
  getResourceServerInfo: ResourceServerInfoFunction,
): (context: RequestContext, spent: Spendable) => Promise<boolean | undefined> {
  return async (context, { resource: granted }) => {
    const requested = context.oidc?.params?.["resource"];
    const asked = requested ?? granted;
    // If there are several, the host lets a function of the OP pick one.
    const identifier: unknown = Array.isArray(asked) && asked.length === 1 ? asked[0] : asked;
    // The host refuses a resource that was not granted, without calling the OP's function.
    if (typeof identifier !== "string" || ![granted].flat().includes(identifier)) return undefined;
    let info: unknown;
    try {
      info = await getResourceServerInfo(context as never, identifier, context.oidc?.client as never);
    } catch (error) {
      // If none was requested, the host may make a token for userinfo. Then it does not matter if a granted resource is gone.
      if (requested === undefined) return false;
      throw error;
    }
    // The host refuses anything that is not an object.
    if (typeof info !== "object" || info === null) return false;
    const jwt = signableJwt(identifier, info, abilities);
    return (info as ResourceServerInfo).accessTokenFormat === "jwt" && mayBeOurs(jwt);
  };
}

type Jwt = ResourceServerInfo["jwt"];

/** The `jwt` settings that the host should use: the OP's, or ES256 if they have no algorithm. Throws if that cannot work. */
function signableJwt(identifier: string, info: ResourceServerInfo, abilities: SigningAbilities): Jwt {
  const { jwt } = info;
  if (info.accessTokenFormat !== "jwt") return jwt;
  const refused = (problem: string): Error =>
    abilities.failure(new ConfigurationError("getResourceServerInfo", `${problem}, for ${identifier}`));
  const unencryptable = jwt?.encrypt ? encryptionProblem(jwt.encrypt) : undefined;
  if (!jwt?.sign && jwt?.encrypt) {
    if (unencryptable !== undefined) throw refused(unencryptable);
    if (jwt.encrypt.key?.type !== "public") return jwt;
    throw refused("jwt.sign is missing: the host only encrypts signed tokens to a public key");
  }
  const { alg, kid, key } = jwt?.sign || {};
  // The host's default algorithm is the one of ID tokens. If all its keys are ours, that is ES256.
  const ours = alg === undefined && key === undefined && abilities.host.hasNone();
  const problem = signingProblem({ alg: ours ? "ES256" : alg, kid, key }, abilities) ?? unencryptable;
  if (problem !== undefined) throw refused(problem);
  return ours ? { ...jwt, sign: { ...jwt?.sign, alg: "ES256" } } : jwt;
}

/** Without an algorithm, the host's default applies, which is not known here. */
function mayBeOurs(jwt: Jwt): boolean {
  if (!jwt?.sign) return !jwt?.encrypt;
  return jwt.sign.alg === undefined || jwt.sign.alg === "ES256";
}

/** What the host would only find when it encrypts. */
function encryptionProblem(encrypt: JwtEncryption): string | undefined {
  const missing = (["alg", "enc", "key"] as const).find((name) => !encrypt[name]);
  if (missing !== undefined) return `jwt.encrypt.${missing} is missing, which the host needs`;
  if (encrypt.key?.type === "private")
    return "expected a public or a secret key for jwt.encrypt.key, got a private one";
  if (types.isKeyObject(encrypt.key)) {
    const type = encrypt.key.asymmetricKeyType ?? "secret";
    const expected = encryptionKeyTypes(String(encrypt.alg));
    if (expected?.includes(type) === false) return `expected a key for jwt.encrypt.alg, got one of type ${type}`;
  }
  return kidProblem("jwt.encrypt.kid", encrypt.kid);
}

/** The types of KeyObject that an algorithm takes. Undefined for an unknown algorithm. */
function encryptionKeyTypes(alg: string): readonly string[] | undefined {
  if (alg.startsWith("RSA-")) return ["rsa"];
  if (alg.startsWith("ECDH-")) return ["ec", "x25519"];
  return /^(A|dir$)/.test(alg) ? ["secret"] : undefined;
}

function kidProblem(name: string, kid: unknown): string | undefined {
  return kid === undefined || typeof kid === "string" ? undefined : `expected a string for ${name}, got ${given(kid)}`;
}

const HMAC = new Set(["HS256", "HS384", "HS512"]);

/** Reads the key as the host does when it signs. Messages never contain it. */
function hmacKeyProblem(alg: string, key: unknown): string | undefined {
  if (!key) return "jwt.sign.key is missing, which HMAC needs";
  try {
    if (types.isCryptoKey(key) ? signsHmac(alg, key) : isNonEmptySecret(key)) return undefined;
  } catch {
    // Neither text nor bytes.
  }
  return `expected a secret key for jwt.sign.key: text, bytes, a secret KeyObject or a CryptoKey for ${alg}, not empty`;
}

function isNonEmptySecret(key: unknown): boolean {
  const { type, symmetricKeySize } = types.isKeyObject(key) ? key : createSecretKey(key as NodeJS.ArrayBufferView);
  return type === "secret" && symmetricKeySize !== 0;
}

function signsHmac(alg: string, { algorithm, usages }: webcrypto.CryptoKey): boolean {
  const { name, hash }: { readonly name: string; readonly hash?: { readonly name: string } } = algorithm;
  return name === "HMAC" && hash?.name === alg.replace("HS", "SHA-") && usages.includes("sign");
}

function signingProblem({ alg, kid, key }: JwtSigning, { activeKid, host }: SigningAbilities): string | undefined {
  if (alg === undefined) {
    // The host uses its default algorithm, with the key of this kid.
    if (typeof kid !== "string" || host.mayName(kid)) return undefined;
    return `expected no jwt.sign.kid, or the kid of a published key, got ${JSON.stringify(kid)}`;
  }
  if (typeof alg !== "string") return `expected jwt.sign.alg "ES256", got ${given(alg)}`;
  if (HMAC.has(alg)) return hmacKeyProblem(alg, key) ?? kidProblem("jwt.sign.kid", kid);
  if (alg !== "ES256") {
    if (host.signs(alg, kid) !== false) return undefined;
    const named = kid === undefined ? "" : ` and jwt.sign.kid ${JSON.stringify(kid)}`;
    return `expected jwt.sign.alg "ES256", got ${JSON.stringify(alg)}${named}, for which there is no published key`;
  }
  if (kid === undefined || kid === activeKid()) return undefined;
  return `expected no jwt.sign.kid, or the kid of the active key, got ${JSON.stringify(kid)}`;
}
