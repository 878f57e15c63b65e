import type { PublicJwk } from "@signpost/core/adapter";
import type { CryptoKey } from "jose";
import type { AlgorithmKey } from "./algorithms.ts";
import { algorithmKey } from "./algorithms.ts";
import type { JsonObject } from "./json.ts";
import { isObject } from "./json.ts";
import { importPublicJwk } from "./import-public-jwk.ts";
import type { KeyFault } from "./public-jwk.ts";
import { readPublicJwk } from "./public-jwk.ts";

/** A key of a set that may verify signatures. */
export interface VerificationKey {
  readonly kid: string | undefined;
  readonly publicJwk: PublicJwk;
  /** Absent: any algorithm of its type. */
  readonly alg: string | undefined;
  /** Imported once for each algorithm. */
  cryptoKey(alg: string): Promise<CryptoKey>;
}

/**
 * Why an entry of a set is left out (RFC 7517 section 5).
 *
 * | reason | meaning |
 * |---|---|
 * | `not_an_object`, `malformed` | no JWK, or one that is not exact |
 * | `symmetric`, `private` | it holds a secret |
 * | `unsupported_kty`, `unsupported_crv`, `unsupported_alg` | no signature here is verified with such a key |
 * | `weak_rsa` | RSA of fewer than 2048 bits |
 * | `small_order` | an Ed25519 point under which one signature fits every message |
 * | `not_for_signatures` | its `use` or `key_ops` is another |
 */
export type DropReason = KeyFault | "unsupported_alg" | "not_for_signatures";

/** What an entry of a set says its key is for. */
interface Purpose {
  readonly kid: string | undefined;
  readonly alg: string | undefined;
}

/** Reads one entry of a set: a key that may verify signatures, or why it is not one. */
export function parseJwk(entry: unknown): VerificationKey | DropReason {
  const publicJwk = readPublicJwk(entry);
  if (typeof publicJwk === "string") return publicJwk;
  const purpose = isObject(entry) ? readPurpose(entry, publicJwk) : "not_an_object";
  return typeof purpose === "string" ? purpose : verificationKey(purpose, publicJwk);
}

function readPurpose(entry: JsonObject, publicJwk: PublicJwk): Purpose | DropReason {
  const { kid, use, alg } = entry;
  if ((kid !== undefined && typeof kid !== "string") || kid === "") return "malformed";
  if (use !== undefined && typeof use !== "string") return "malformed";
  if (use !== undefined && use !== "sig") return "not_for_signatures";
  const keyOpsFault = readKeyOps(entry["key_ops"]);
  if (keyOpsFault !== undefined) return keyOpsFault;
  if (alg === undefined) return { kid, alg };
  if (typeof alg !== "string") return "malformed";
  const asked = algorithmKey(alg);
  if (asked === undefined) return "unsupported_alg";
  return fits(publicJwk, asked) ? { kid, alg } : "malformed";
}

/** RFC 7517 section 4.3. */
function readKeyOps(keyOps: unknown): DropReason | undefined {
  if (keyOps === undefined) return undefined;
  if (!Array.isArray(keyOps) || keyOps.some((operation) => typeof operation !== "string")) return "malformed";
  if (new Set(keyOps).size !== keyOps.length) return "malformed";
  return keyOps.includes("verify") ? undefined : "not_for_signatures";
}

/** Whether a key is of the type and curve that an algorithm asks for. */
export function fits(key: PublicJwk, asked: AlgorithmKey): boolean {
  return key.kty === asked.kty && (key.kty === "RSA" || key.crv === asked.crv);
}

function verificationKey(purpose: Purpose, publicJwk: PublicJwk): VerificationKey {
  const imported = new Map<string, Promise<CryptoKey>>();
  return {
    ...purpose,
    publicJwk,
    cryptoKey(alg) {
      const key = imported.get(alg) ?? importPublicJwk(publicJwk, alg);
      imported.set(alg, key);
      return key;
    },
  };
}
