import { createHash, randomBytes } from "node:crypto";
import type { CallbackContext } from "@openid4vc/oauth2";
import type { InputSigner } from "@signpost/core";
import { openid4vcSigner } from "./openid4vc.ts";
import { verifyWalletProof } from "./wallet-proof.ts";

export type Callbacks = Omit<CallbackContext, "decryptJwe" | "encryptJwe">;

/** What `@openid4vc/oauth2` and `@openid4vc/openid4vci` call. */
export function createCallbacks(own: InputSigner): Callbacks {
  return {
    signJwt: openid4vcSigner(own),
    verifyJwt: verifyWalletProof,
    generateRandom: (length) => new Uint8Array(randomBytes(length)),
    hash,
    clientAuthentication: () => {},
  };
}

/** `alg` is a name like `sha-256`. */
export function hash(data: Uint8Array, alg: string): Uint8Array {
  return new Uint8Array(createHash(alg.replace("-", "")).update(data).digest());
}

/** A code or a nonce. */
export function randomText(): string {
  return randomBytes(16).toString("base64url");
}
