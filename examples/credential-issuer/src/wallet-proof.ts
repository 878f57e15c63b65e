import { createPublicKey, type JsonWebKeyInput, verify } from "node:crypto";
import type { VerifyJwtCallback } from "@openid4vc/oauth2";

/** Verifies what a wallet signed with the key that its credential is bound to: ES256, with the public key in the header. */
export const verifyWalletProof: VerifyJwtCallback = (signer, { header, compact }) => {
  if (signer.method !== "jwk" || signer.alg !== "ES256") return { verified: false };
  // Extensions that must be understood (RFC 7515 section 4.1.11), of which none is.
  if (header["crit"] !== undefined) return { verified: false };
  const end = compact.lastIndexOf(".");
  const [input, signature] = [compact.slice(0, end), compact.slice(end + 1)];
  const { kty, crv, x, y } = signer.publicJwk;
  const key = createPublicKey({ key: { kty, crv, x, y } as JsonWebKeyInput["key"], format: "jwk" });
  const verifier = { key, dsaEncoding: "ieee-p1363" } as const;
  const verified = verify("sha256", Buffer.from(input), verifier, Buffer.from(signature, "base64url"));
  return verified ? { verified, signerJwk: signer.publicJwk } : { verified };
};
