import type { PublicJwk } from "../encoding/public-jwk.ts";
import { thumbprintOf } from "../encoding/thumbprint.ts";
import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";

const MAX_LENGTH = 256;

/** The `kid` of an entry: exactly as given, never trimmed or case-folded (RFC 7517 section 4.5). Default: the thumbprint. */
export function readKeyId(argument: string, keyId: unknown, publicKey: PublicJwk): string {
  if (keyId === undefined) return thumbprintOf(publicKey);
  if (typeof keyId === "string" && keyId !== "" && keyId.length <= MAX_LENGTH && keyId.isWellFormed()) {
    return keyId;
  }
  throw new ConfigurationError(
    `${argument}.keyId`,
    `expected a string of 1 to ${MAX_LENGTH} characters without lone surrogates, got ${describeKeyId(keyId)}`,
  );
}

function describeKeyId(keyId: unknown): string {
  if (typeof keyId !== "string" || keyId === "") return given(keyId);
  return keyId.length > MAX_LENGTH ? `${keyId.length} characters` : "a lone surrogate";
}
