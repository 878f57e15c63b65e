import { X509Certificate } from "node:crypto";
import type { PublicJwk } from "@signpost/core/adapter";
import type { JsonObject } from "./json.ts";

/**
 * Whether the first certificate in `x5c` contradicts the key of its entry (RFC 7517 section 4.7). This is only a check: no
 * certificate is ever a reason to trust a key. What is not a list whose first value is a certificate says nothing about the
 * key: jose ignores it too, and servers publish bare public keys there.
 */
export function contradictsKey({ x5c }: JsonObject, key: PublicJwk): boolean {
  const [first]: readonly unknown[] = Array.isArray(x5c) ? x5c : [];
  const certified = typeof first === "string" ? certifiedKey(first) : undefined;
  return certified !== undefined && !Object.entries(key).every(([name, member]) => certified[name] === member);
}

/** The members of the certificate's key. Undefined if it is no certificate, or of a key that has no JWK form. */
function certifiedKey(base64: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return { ...new X509Certificate(Buffer.from(base64, "base64")).publicKey.export({ format: "jwk" }) };
  } catch {
    return undefined;
  }
}
