import { X509Certificate } from "node:crypto";
import type { P256PublicJwk } from "../encoding/ec-point.ts";
import { PRIVATE_JWK_MEMBERS } from "../encoding/public-jwk.ts";
import { ConfigurationError } from "../errors.ts";
import type { ActiveKey } from "../keyset/types.ts";
import { isPlainObject } from "../options/plain-object.ts";

/**
 * Checks the members of a header from which a verifier takes the key. It would refuse every token of another key.
 *
 * @throws ConfigurationError
 */
export function requireSameKey({ x5c, jwk }: Readonly<Record<string, unknown>>, key: ActiveKey): void {
  if (x5c !== undefined) requireKey("header.x5c", certifiedKey(x5c), key);
  if (jwk === undefined) return;
  requireKey("header.jwk", jwk, key);
  const secret = PRIVATE_JWK_MEMBERS.find((name) => Object.hasOwn(Object(jwk), name));
  if (secret === undefined) return;
  throw new ConfigurationError("header.jwk", `expected a public key, but it has the private member "${secret}"`);
}

function requireKey(argument: string, named: unknown, { keyId, publicKey }: ActiveKey): void {
  if (hasPublicKey(named, publicKey)) return;
  throw new ConfigurationError(argument, `expected the public key of the kid ${JSON.stringify(keyId)}`);
}

/** Whether a JWK has this public key. */
export function hasPublicKey(named: unknown, publicKey: P256PublicJwk): boolean {
  return isPlainObject(named) && Object.entries(publicKey).every(([name, value]) => named[name] === value);
}

/** The key of the first certificate, which belongs to the key that signs (RFC 7515 section 4.1.6). */
export function certifiedKey(x5c: unknown): unknown {
  const [leaf] = Array.isArray(x5c) ? x5c.map(readCertificate) : [];
  try {
    return leaf?.publicKey.export({ format: "jwk" });
  } catch {
    // A kind of key that has no JWK.
    return undefined;
  }
}

/** Only base64 of DER: Node would read PEM, line breaks and trailing bytes too, and verifiers do not. */
function readCertificate(value: unknown): X509Certificate {
  try {
    const der = Buffer.from(String(value), "base64");
    const certificate = new X509Certificate(der);
    if (der.toString("base64") === value && certificate.raw.equals(der)) return certificate;
  } catch {
    // Refused below.
  }
  throw new ConfigurationError("header.x5c", "expected only certificates as base64 of DER, without line breaks");
}
