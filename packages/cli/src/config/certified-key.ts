import { X509Certificate } from "node:crypto";
import { spkiToJwk, type P256PublicJwk } from "@signpost/core";

/**
 * The key of the first certificate of an option `certificates`, whose files were read. Undefined if it cannot be read or is no
 * P-256 key, which is for the check of the chain to say.
 */
export function certifiedKeyOf(certificates: unknown): P256PublicJwk | undefined {
  const { chain }: { readonly chain?: unknown } = Object(certificates);
  const first: unknown = Array.isArray(chain) ? chain[0] : chain;
  try {
    const der = typeof first === "string" && !first.includes("-----") ? Buffer.from(first, "base64") : first;
    const { publicKey } = new X509Certificate(der as string | Buffer);
    return spkiToJwk(publicKey.export({ type: "spki", format: "der" }));
  } catch {
    return undefined;
  }
}
