import { ecdsaRawToDer, SignerError, type P256PublicJwk } from "@signpost/core";
import { decodeBase64url, decodedAnswer, incompleteAnswer, memberOf, p256JwkFrom } from "@signpost/core/adapter";
import { requireVersion, type KidReader } from "./kid.ts";

// Checks every member of an answer, and refuses a missing or a wrong one.

/** A version as the service describes it. */
export interface KeyVersion {
  readonly keyVersion: string;
  readonly enabled: boolean;
  /** When it was made. */
  readonly created: Date | undefined;
  /** When it becomes valid, and when it expires. */
  readonly notBefore: Date | undefined;
  readonly expires: Date | undefined;
  /** Notes for the operator. */
  readonly notes: readonly string[];
}

/** A version with its public key. */
export interface PublicKeyVersion extends KeyVersion {
  readonly publicKey: P256PublicJwk;
}

/** Reads the answer to `GET /keys/KEY/VERSION`. `wanted` is undefined for the latest version. */
export function readKey(answer: unknown, wanted: string | undefined, kids: KidReader, call: string): PublicKeyVersion {
  const jwk = memberOf(answer, "key");
  if (typeof jwk !== "object" || jwk === null) throw incompleteAnswer(call, "key");
  const keyVersion = kids.versionOf(memberOf(jwk, "kid"), call);
  if (wanted !== undefined) requireVersion(keyVersion, wanted, call);
  const version = readAttributes(memberOf(answer, "attributes"), keyVersion, call);
  return { ...version, publicKey: readPublicKey(jwk, call) };
}

/** `EC-HSM` says that the key is in an HSM. Both kinds have the same form. */
const KEY_TYPES: readonly unknown[] = ["EC", "EC-HSM"];

function readPublicKey(jwk: object, call: string): P256PublicJwk {
  const [kty, crv, x, y, keyOps] = ["kty", "crv", "x", "y", "key_ops"].map((name) => memberOf(jwk, name));
  if (typeof kty !== "string") throw incompleteAnswer(call, "kty");
  if (!KEY_TYPES.includes(kty) || crv !== "P-256") {
    const found = [kty, crv].filter(isWord).join(" ");
    throw new SignerError("unsupported_key", `${call}: the key is ${found || "unknown"}, expected EC or EC-HSM P-256`);
  }
  if (!Array.isArray(keyOps)) throw incompleteAnswer(call, "key_ops");
  if (!keyOps.includes("sign")) {
    throw new SignerError("unsupported_key", `${call}: the key_ops of the key do not contain sign`);
  }
  if (typeof x !== "string") throw incompleteAnswer(call, "x");
  if (typeof y !== "string") throw incompleteAnswer(call, "y");
  return decodedAnswer(call, () => p256JwkFrom({ kty: "EC", crv, x, y }, "key"));
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && /^[A-Za-z0-9-]{1,32}$/.test(value);
}

/** Reads the member `attributes` of a version. */
export function readAttributes(attributes: unknown, keyVersion: string, call: string): KeyVersion {
  const enabled = memberOf(attributes, "enabled");
  if (typeof enabled !== "boolean") throw incompleteAnswer(call, "enabled");
  const expires = readTime(attributes, "exp", call);
  return {
    keyVersion,
    enabled,
    created: readTime(attributes, "created", call),
    notBefore: readTime(attributes, "nbf", call),
    expires,
    notes: notesOf(attributes, expires),
  };
}

/** The latest time that a `Date` can hold. Seconds. */
const MAX_SECONDS = 8_640_000_000_000;

function readTime(attributes: unknown, member: string, call: string): Date | undefined {
  const seconds = memberOf(attributes, member);
  if (seconds === undefined || seconds === null) return undefined;
  if (typeof seconds === "number" && seconds >= 0 && seconds <= MAX_SECONDS) return new Date(seconds * 1000);
  throw new SignerError("integrity", `${call}: ${member} is not a time`);
}

function notesOf(attributes: unknown, expires: Date | undefined): readonly string[] {
  const level = memberOf(attributes, "recoveryLevel");
  return [
    ...(memberOf(attributes, "exportable") === true
      ? ["exportable: the private key can leave the HSM by a release policy, and this cannot be undone"]
      : []),
    ...(typeof level === "string" && level.includes("Purgeable")
      ? ["the vault has no purge protection: two calls delete the key for good, and no token can be signed then"]
      : []),
    ...(expires === undefined
      ? []
      : [`exp ${expires.toISOString()}: the service refuses to sign with this version from then on`]),
  ];
}

/** The error for a version that cannot sign now, with the reason. */
export function refusalOf(version: KeyVersion, call: string): SignerError | undefined {
  const refused = (text: string): SignerError =>
    new SignerError("key_disabled", `${call}: version ${version.keyVersion} ${text}`);
  const { enabled, notBefore, expires } = version;
  const now = Date.now();
  if (!enabled) return refused("is disabled");
  if (notBefore !== undefined && now < notBefore.getTime()) {
    return refused(`is not valid before ${notBefore.toISOString()} (nbf)`);
  }
  if (expires !== undefined && now >= expires.getTime()) {
    return refused(`has expired at ${expires.toISOString()} (exp)`);
  }
  return undefined;
}

/** The 64 bytes r‖s in the answer to `POST /keys/KEY/VERSION/sign`. */
export function readSignature(answer: unknown, keyVersion: string, kids: KidReader, call: string): Uint8Array {
  requireVersion(kids.versionOf(memberOf(answer, "kid"), call), keyVersion, call);
  const value = memberOf(answer, "value");
  if (typeof value !== "string" || value === "") throw incompleteAnswer(call, "value");
  const signature = decodeBase64url(value);
  if (signature === undefined) throw new SignerError("integrity", `${call}: the signature is not base64url`);
  if (signature.length !== 64) {
    throw new SignerError("integrity", `${call}: the signature has ${signature.length} bytes, expected 64`);
  }
  // Refuses numbers out of range.
  decodedAnswer(`${call}: signature`, () => ecdsaRawToDer(signature));
  return signature;
}
