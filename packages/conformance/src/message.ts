import { ok } from "node:assert/strict";
import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { P256PublicJwk } from "@signpost/core";
import { compactVerify, importJWK } from "jose";

/** Something to sign: a JWS signing input (RFC 7515 section 5.1), so that a JOSE library can verify it too. */
export interface Message {
  readonly signingInput: Uint8Array;
  /** The SHA-256 of the signing input. A new copy each time, since a signer may overwrite it. */
  digest(): Uint8Array;
}

const PROTECTED_HEADER = Buffer.from('{"alg":"ES256"}').toString("base64url");

/** A random message, different for each call. */
export function newMessage(): Message {
  const signingInput = new TextEncoder().encode(`${PROTECTED_HEADER}.${randomBytes(24).toString("base64url")}`);
  const digest = createHash("sha256").update(signingInput).digest();
  return { signingInput, digest: () => Uint8Array.from(digest) };
}

/** The key as a KeyObject, imported once for many signatures. */
export function nodeKeyOf(publicKey: P256PublicJwk): KeyObject {
  return createPublicKey({ key: { ...publicKey }, format: "jwk" });
}

/** Whether this is a 64-byte r‖s signature over the message that node:crypto verifies with the key. */
export function isSignatureOver(key: KeyObject, message: Message, signature: unknown): signature is Uint8Array {
  return (
    signature instanceof Uint8Array &&
    signature.length === 64 &&
    verify("sha256", message.signingInput, { key, dsaEncoding: "ieee-p1363" }, signature)
  );
}

/** Asserts the form of a signature, and that node:crypto verifies it. */
export function assertSignature(
  key: KeyObject,
  message: Message,
  signature: unknown,
  what: string,
): asserts signature is Uint8Array {
  ok(signature instanceof Uint8Array, `${what} is not a Uint8Array`);
  ok(signature.length === 64, `${what} has ${signature.length} bytes, expected 64 bytes r‖s`);
  ok(
    isSignatureOver(key, message, signature),
    `${what} does not verify over its digest with the signer's publicKey (node:crypto)`,
  );
}

/** Asserts that jose accepts the signature as a compact JWS. */
export async function assertSignatureByJose(
  publicKey: P256PublicJwk,
  message: Message,
  signature: Uint8Array,
  what: string,
): Promise<void> {
  const jws = `${new TextDecoder().decode(message.signingInput)}.${Buffer.from(signature).toString("base64url")}`;
  const key = await importJWK({ ...publicKey }, "ES256");
  await compactVerify(jws, key, { algorithms: ["ES256"] }).catch((cause: unknown) => {
    throw new Error(`${what} does not verify with the signer's publicKey (jose)`, { cause });
  });
}
