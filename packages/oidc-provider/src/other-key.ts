import { constants, createPublicKey, verify } from "node:crypto";
import type { DocumentKey } from "@signpost/core/adapter";

/** How Node verifies the algorithms that an endpoint can publish. */
const ALGORITHMS: Readonly<Record<string, readonly [hash: "sha256" | null, options: object]>> = {
  ES256: ["sha256", { dsaEncoding: "ieee-p1363" }],
  RS256: ["sha256", {}],
  PS256: ["sha256", { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }],
  EdDSA: [null, {}],
};

/** Whether a token was signed by another key than a published one. False if that cannot be found out. */
export function isOfOtherKey(token: string, alg: string, published: DocumentKey): boolean {
  const [hash, options] = ALGORITHMS[alg] ?? [];
  if (hash === undefined) return false;
  const end = token.lastIndexOf(".");
  try {
    const key = createPublicKey({ key: { ...published }, format: "jwk" });
    const signature = Buffer.from(token.slice(end + 1), "base64url");
    return !verify(hash, Buffer.from(token.slice(0, end)), { key, ...options }, signature);
  } catch {
    return false;
  }
}
