import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import type { P256PublicJwk, Signer } from "@signpost/core";

export interface Message {
  readonly bytes: Uint8Array;
  readonly digest: Uint8Array;
}

export function newMessage(): Message {
  const bytes = randomBytes(40);
  return { bytes, digest: createHash("sha256").update(bytes).digest() };
}

/** Signs something new and says whether node:crypto verifies it. */
export async function signsTruly(signer: Signer): Promise<boolean> {
  const message = newMessage();
  return verifies(signer.publicKey, message, await signer.sign(message.digest));
}

export function verifies(publicKey: P256PublicJwk, message: Message, signature: Uint8Array): boolean {
  const key = createPublicKey({ key: { ...publicKey }, format: "jwk" });
  return verify("sha256", message.bytes, { key, dsaEncoding: "ieee-p1363" }, signature);
}

/** What a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("expected a rejection");
    },
    (error: unknown) => error,
  );
}
