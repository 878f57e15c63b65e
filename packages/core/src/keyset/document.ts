import { createHash } from "node:crypto";
import type { JwkMembers } from "../encoding/public-jwk.ts";
import { certificateMembers } from "./certificates.ts";
import type { JwksDocument, PublishedKey } from "./types.ts";

/**
 * Every member that may describe a key, in the order of the document. The ETag depends on the order. A member that is
 * not in this list is never published, even if the key object has it.
 */
const KEY_MEMBERS = ["kty", "crv", "x", "y", "n", "e"] as const;

/** The document of a list of validated keys. */
export function encodeDocument(keys: readonly PublishedKey[]): JwksDocument {
  // Not a Buffer, since Buffers may share memory.
  const body = new TextEncoder().encode(JSON.stringify({ keys: keys.map(toMembers) }));
  const etag = `"${createHash("sha256").update(body).digest("hex")}"`;
  return Object.freeze({ body, etag });
}

function toMembers(key: PublishedKey): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  const publicKey: JwkMembers = key.publicKey;
  for (const name of KEY_MEMBERS) {
    // A member of a polluted `Object.prototype` is not a member of the key.
    if (Object.hasOwn(publicKey, name)) members[name] = publicKey[name];
  }
  return { ...members, kid: key.keyId, alg: key.alg, use: key.use, ...certificateMembers(key) };
}
