import { jwkThumbprint } from "@signpost/core";
import type { PublicJwk } from "@signpost/core/adapter";
import type { AlgorithmKey } from "./algorithms.ts";
import { algorithmKey } from "./algorithms.ts";
import type { JsonObject } from "./json.ts";
import { isObject } from "./json.ts";
import { contradictsKey } from "./certified-key.ts";
import { verifierKey } from "./import-public-jwk.ts";
import type { VerifierKey } from "./import-public-jwk.ts";
import type { KeyFault } from "./public-jwk.ts";
import { readPublicJwk } from "./public-jwk.ts";

/** A key of a set that may verify signatures. */
export interface VerificationKey extends VerifierKey {
  readonly kid: string | undefined;
  readonly publicJwk: PublicJwk;
  /** If absent: any algorithm of its type. */
  readonly alg: string | undefined;
  /** RFC 7638. Computed once. */
  thumbprint(): string;
}

/**
 * Why an entry of a set is left out (RFC 7517 section 5).
 *
 * | reason | meaning |
 * |---|---|
 * | `not_an_object`, `malformed` | not a JWK, or not an exact one |
 * | `symmetric`, `private` | it contains a secret |
 * | `unsupported_kty`, `unsupported_crv`, `unsupported_alg` | this package does not verify signatures of such a key |
 * | `weak_rsa` | RSA of fewer than 2048 bits |
 * | `small_order` | an Ed25519 point for which one signature fits every message |
 * | `wrong_certificate` | the first certificate in its `x5c` is of another key |
 * | `not_for_signatures` | its `use` or `key_ops` does not allow verification |
 */
export type DropReason = KeyFault | "unsupported_alg" | "wrong_certificate" | "not_for_signatures";

/** An entry that is not used. */
export interface LeftOut {
  /** Absent if the entry has none. */
  readonly kid: string | undefined;
  readonly reason: DropReason;
  /** The fault. It contains no value of the entry. */
  readonly detail: string;
}

/** Why entries are left out, each reason once. Empty if there are no entries. */
export function describeLeftOut(entries: readonly LeftOut[]): string {
  return [...new Set(entries.map(({ reason, detail }) => `${reason} (${detail})`))].join("; ");
}

/** The purpose that an entry states for its key. */
interface Purpose {
  readonly kid: string | undefined;
  readonly alg: string | undefined;
}

type Fault = Omit<LeftOut, "kid">;

/** Reads one entry of a set. Returns a key that may verify signatures, or why it cannot. */
export function parseJwk(value: unknown): VerificationKey | LeftOut {
  if (!isObject(value)) return { kid: undefined, reason: "not_an_object", detail: "it is not a JSON object" };
  const entry = withoutNulls(value);
  const { kid } = entry;
  const fault = (found: Fault): LeftOut => ({ kid: typeof kid === "string" && kid !== "" ? kid : undefined, ...found });
  const publicJwk = readPublicJwk(entry);
  if ("reason" in publicJwk) return fault(publicJwk);
  const purpose = readPurpose(entry, publicJwk);
  if ("reason" in purpose) return fault(purpose);
  return contradictsKey(entry, publicJwk) ? fault(WRONG_CERTIFICATE) : verificationKey(purpose, publicJwk);
}

const WRONG_CERTIFICATE: Fault = {
  reason: "wrong_certificate",
  detail: 'the first certificate in the member "x5c" is of another key',
};

/** Many serializers write `null` for a missing member. */
function withoutNulls(entry: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}

function readPurpose(entry: JsonObject, publicJwk: PublicJwk): Purpose | Fault {
  const { kid, use, alg } = entry;
  if (!isOptionalString(kid) || kid === "") return malformed('the member "kid" is not a string, or is empty');
  if (!isOptionalString(use)) return malformed('the member "use" is not a string');
  if (use !== undefined && use !== "sig") {
    return { reason: "not_for_signatures", detail: 'the member "use" is not "sig"' };
  }
  const keyOpsFault = readKeyOps(entry["key_ops"]);
  if (keyOpsFault !== undefined) return keyOpsFault;
  if (alg === undefined) return { kid, alg };
  if (!isOptionalString(alg)) return malformed('the member "alg" is not a string');
  const asked = algorithmKey(alg);
  if (asked === undefined)
    return { reason: "unsupported_alg", detail: 'the member "alg" is not a supported signature algorithm' };
  return fits(publicJwk, asked) ? { kid, alg } : malformed('the member "alg" does not fit the key');
}

/** RFC 7517 section 4.3. An empty list allows no operation. */
function readKeyOps(keyOps: unknown): Fault | undefined {
  if (keyOps === undefined) return undefined;
  if (!Array.isArray(keyOps) || keyOps.some((operation) => typeof operation !== "string")) {
    return malformed('the member "key_ops" is not an array of strings');
  }
  if (new Set(keyOps).size !== keyOps.length) return malformed('the member "key_ops" contains a value twice');
  return keyOps.includes("verify")
    ? undefined
    : { reason: "not_for_signatures", detail: 'the member "key_ops" does not contain "verify"' };
}

function isOptionalString(value: unknown): value is string | undefined {
  return value === undefined || typeof value === "string";
}

function malformed(detail: string): Fault {
  return { reason: "malformed", detail };
}

/** Whether a key has the type and curve that an algorithm needs. */
export function fits(key: PublicJwk, asked: AlgorithmKey): boolean {
  return key.kty === asked.kty && (key.kty === "RSA" || key.crv === asked.crv);
}

function verificationKey(purpose: Purpose, publicJwk: PublicJwk): VerificationKey {
  let thumbprint: string | undefined;
  return {
    ...purpose,
    ...verifierKey(publicJwk),
    publicJwk,
    thumbprint: () => (thumbprint ??= jwkThumbprint(publicJwk)),
  };
}
