import type { SignJwtCallback } from "@openid4vc/oauth2";
import type { InputSigner } from "@signpost/core";

/** The callback `signJwt`. The header and the signer both may name a key. If neither does, the active key signs. */
export function openid4vcSigner(own: InputSigner): SignJwtCallback {
  return async (signer, { header, payload }) => {
    const { keyId: kid, publicKey } = own.key(header.kid ?? signer.kid);
    const parts = [{ ...header, kid }, payload].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
    const signature = Buffer.from(await own.sign(parts.join("."))).toString("base64url");
    return { jwt: [...parts, signature].join("."), signerJwk: { ...publicKey, kid } };
  };
}
