import { ecdsaRawToDer, signWith, type ActiveKey } from "@signpost/core";
import { bitString, objectIdentifier, sequence } from "./encode/der.ts";
import { pemOf, type EncodedCertificate } from "./encode/pem.ts";

/** ecdsa-with-SHA256, without parameters (RFC 5758 section 3.2). */
export const SIGNATURE_ALGORITHM: Uint8Array = sequence([objectIdentifier("1.2.840.10045.4.3.2")]);

/** Signs the inner structure, verifies the signature with the public key, and returns the outer structure. */
export async function signStructure(
  key: ActiveKey,
  label: string,
  inner: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<EncodedCertificate> {
  const signature = await signWith(key, inner, { signal });
  const der = sequence([inner, SIGNATURE_ALGORITHM, bitString(ecdsaRawToDer(signature))]);
  return { der, pem: pemOf(label, der) };
}
