import { createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { P256PublicJwk } from "./p256-public-jwk.ts";

/** The key for node:crypto. Nothing is cached: keep it where the JWK is kept. */
export function publicKeyObject(jwk: P256PublicJwk): KeyObject {
  return createPublicKey({ key: { ...jwk }, format: "jwk" });
}
