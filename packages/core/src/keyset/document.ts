import { createHash } from "node:crypto";
import type { JwkMembers } from "../encoding/public-jwk.ts";
import type { JwksDocument, PublishedKey } from "./types.ts";

/**
 * Every member that may describe a key, in the order of the document. The order is part of the ETag. A member that
 * is not in this list cannot be published, whatever the key object holds.
 */
const KEY_MEMBERS = ["kty", "crv", "x", "y", "n", "e"] as const;

/** The whole document of a list of keys that was validated before. */
export function encodeDocument(keys: readonly PublishedKey[]): JwksDocument {
  // Not a Buffer, which may share its memory with others.
  const body = new TextEncoder().encode(JSON.stringify({ keys: keys.map(toMembers) }));
  const etag = `"${createHash("sha256").update(body).digest("hex")}"`;
  return Object.freeze({ body, etag });
}

function toMembers(key: PublishedKey): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  const publicKey: JwkMembers = key.publicKey;
  for (const name of KEY_MEMBERS) {
    // What a polluted `Object.prototype` holds is no member of the key.
    if (Object.hasOwn(publicKey, name)) members[name] = publicKey[name];
  }
  return { ...members, kid: key.keyId, alg: key.alg, use: key.use };
}
