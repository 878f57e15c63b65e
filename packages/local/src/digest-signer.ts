import { hash, sign, type KeyObject } from "node:crypto";

/**
 * Signs a digest with a key in this process. node:crypto cannot sign a digest, because it hashes its input again. So it is
 * only used if the signing input was passed too and hashes to the digest. That takes 18 µs instead of 360. The library for
 * the other way is loaded on first use. `signJwt` never needs it.
 */
export function createDigestSigner(
  key: KeyObject,
): (digest: Uint8Array, signingInput?: Uint8Array) => Promise<Uint8Array> {
  const secretKey = Buffer.from(key.export({ format: "jwk" }).d ?? "", "base64url");
  return async (digest, signingInput) => {
    if (signingInput !== undefined && isDigest(digest, signingInput)) {
      return sign("sha256", signingInput, { key, dsaEncoding: "ieee-p1363" });
    }
    const { p256 } = await import("@noble/curves/nist.js");
    return p256.sign(digest, secretKey, { prehash: false, lowS: false });
  };
}

/** Whether this is the SHA-256 digest of the input. Node returns a digest faster as a text than as a Buffer. */
function isDigest(digest: Uint8Array, input: Uint8Array): boolean {
  return Buffer.from(digest).toString("latin1") === hash("sha256", input, "binary");
}
