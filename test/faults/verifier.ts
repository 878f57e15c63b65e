import { createHash, createPublicKey, verify, type KeyObject } from "node:crypto";

// Checks tokens with node:crypto alone, and without code of Signpost.

/** A key set as it was published at a moment: the public keys by their kid. */
export type Published = ReadonlyMap<string, KeyObject>;

/** What a token says, once its signature has been verified. */
export interface Token {
  readonly kid: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Reads a JWKS document. Throws if it is not one of P-256 keys for ES256 with different kids. */
export function readPublished(document: string): Published {
  const { keys } = JSON.parse(document) as { keys: readonly Readonly<Record<string, string>>[] };
  const published = new Map<string, KeyObject>();
  for (const { kid = "", kty = "", crv = "", x = "", y = "", alg } of keys) {
    if (kid === "" || alg !== "ES256" || crv !== "P-256" || published.has(kid)) {
      throw new Error(`a published key is not a P-256 key with a kid: ${JSON.stringify({ kid, kty, crv, alg })}`);
    }
    published.set(kid, createPublicKey({ key: { kty, crv, x, y }, format: "jwk" }));
  }
  return published;
}

/** RFC 7638, for the kid that a key must have. */
export function thumbprintOf(key: KeyObject): string {
  const { crv, kty, x, y } = key.export({ format: "jwk" });
  return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

/** Verifies a compact ES256 JWS. Throws with the reason if it is not a good one. */
export function verifyToken(token: string, findKey: (kid: string) => KeyObject | undefined): Token {
  const parts = token.split(".");
  const [header = "", payload = "", signature = ""] = parts;
  if (parts.length !== 3 || !parts.every((part) => /^[\w-]+$/.test(part))) throw new Error("it has no three parts");
  const { alg, kid } = readJson(header);
  if (alg !== "ES256" || typeof kid !== "string") throw new Error(`its header has alg ${String(alg)}`);
  const key = findKey(kid);
  if (key === undefined) throw new Error(`its kid ${kid} is not published`);
  const raw = Buffer.from(signature, "base64url");
  const good =
    raw.length === 64 &&
    raw.toString("base64url") === signature &&
    verify("sha256", Buffer.from(`${header}.${payload}`), { key, dsaEncoding: "ieee-p1363" }, raw);
  if (!good) throw new Error(`its signature does not verify with the published key ${kid}`);
  return { kid, claims: readJson(payload) };
}

function readJson(part: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(part, "base64url").toString()) as Readonly<Record<string, unknown>>;
}
