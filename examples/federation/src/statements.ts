import type { SignCallback } from "@openid-federation/core";
import { currentKeySet, type InputSigner, type KeySetSource } from "@signpost/core";

/** The callback `signJwtCallback`. */
export function statementSigner(own: InputSigner): SignCallback {
  return ({ toBeSigned }) => own.sign(toBeSigned);
}

/** The header of the next statement. Without it, the library writes none with `alg`, which RFC 7515 requires. */
export function statementHeader(own: InputSigner): { alg: "ES256"; typ: "entity-statement+jwt"; kid: string } {
  return { alg: "ES256", typ: "entity-statement+jwt", kid: own.key().keyId };
}

/** The claim `jwks`: the active key, and those that are announced or retiring. */
export function federationKeys(keys: KeySetSource): { keys: { kty: string; kid: string; alg: string; use: string }[] } {
  const published = currentKeySet(keys).keys;
  return { keys: published.map(({ keyId: kid, publicKey, alg, use }) => ({ ...publicKey, kid, alg, use })) };
}
