import { decodeBase64url, isPlainObject } from "@signpost/core/adapter";
import { KubernetesRequestError } from "../errors.ts";
import { repeatedName } from "../repeated-name.ts";
import type { TokenSubject } from "../signer-types.ts";

/** The claims of a token, read. */
export interface ReadClaims {
  /** The JSON, byte for byte. */
  readonly payload: Uint8Array;
  readonly members: Readonly<Record<string, unknown>>;
}

/** The rules for claims. */
export interface ClaimRules {
  readonly issuer: string;
  readonly maxTokenLifetimeSeconds: number;
  /** Now, in milliseconds since 1970. */
  readonly time: number;
}

/** A clock that is wrong, on a machine or in a test, must not end the signing. */
const MAX_AHEAD_SECONDS = 86_400;

/**
 * Reads claims in base64url. Node's own decoder would accept padding, other alphabets and trailing bits, and the token would
 * have another payload than the one that was asked for.
 */
export function readClaims(claims: string): ReadClaims {
  const payload = claims === "" ? undefined : decodeBase64url(claims);
  if (payload === undefined) throw invalid("expected claims in base64url without padding");
  return { payload, members: parse(payload) };
}

/** Which token it is, for an audit log. */
export function subjectOf({ members: { jti, sub } }: ReadClaims): TokenSubject {
  return { jti: textOf(jti), sub: textOf(sub) };
}

/** Refuses claims that this signer must not sign. */
export function checkClaims({ members }: ReadClaims, { issuer, maxTokenLifetimeSeconds, time }: ClaimRules): void {
  const { iss, iat, exp } = members;
  if (iss !== issuer) throw new KubernetesRequestError("wrong_issuer", "iss: expected the issuer of this signer");
  const issuedAt = seconds("iat", iat);
  const lifetime = seconds("exp", exp) - issuedAt;
  // Otherwise a client could stock up on tokens for every day of the years to come.
  if (issuedAt > time / 1000 + MAX_AHEAD_SECONDS) {
    throw new KubernetesRequestError("lifetime_invalid", "iat: expected a time at most a day in the future");
  }
  if (lifetime <= 0) throw new KubernetesRequestError("lifetime_invalid", "exp: expected a time after iat");
  if (lifetime > maxTokenLifetimeSeconds) {
    const problem = `expected at most ${maxTokenLifetimeSeconds} s after iat, got ${lifetime} s`;
    throw new KubernetesRequestError("lifetime_too_long", `exp: ${problem}`);
  }
}

function parse(payload: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload);
    const value: unknown = JSON.parse(text);
    // Parsers keep the first or the last of two members, so they would read another token than the one that is checked here.
    if (isPlainObject(value) && repeatedName(text) === undefined) return value;
  } catch {
    // Without the cause: the message of the parser contains claims.
  }
  throw invalid("expected claims that are a JSON object, in which no name is there twice");
}

/** RFC 7519 allows fractions, and kube-apiserver never has them. */
function seconds(name: string, value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid(`${name}: expected a whole number of seconds since 1970`);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function invalid(problem: string): KubernetesRequestError {
  return new KubernetesRequestError("invalid_claims", problem);
}
