import { ConfigurationError } from "../errors.ts";
import type { PublishedKey } from "./types.ts";

/**
 * RPs read at most 50 KiB (Nimbus) or 64 KiB of a document. The rest is for the other members of about 40 keys.
 */
const MAX_CHARACTERS = 40_960;

/** The members of a JWK that show its certificates, in the order of the document. None unless its entry asks for them. */
export function certificateMembers({ certificates }: PublishedKey): Readonly<Record<string, unknown>> {
  if (certificates === undefined) return {};
  return Object.fromEntries(certificates.publish.map((member) => [member, certificates[member]]));
}

/** How many characters the certificates of keys take in a document. */
export function certificateCharacters(keys: readonly PublishedKey[]): number {
  return keys.reduce((sum, key) => sum + JSON.stringify(certificateMembers(key)).length, 0);
}

/** Refuses more certificates in one document than RPs read. */
export function requireRoom(argument: string, characters: number): void {
  if (characters <= MAX_CHARACTERS) return;
  const expected = `expected at most ${MAX_CHARACTERS} characters of certificates in one document, which RPs can still read`;
  const advice = 'leave out certificates that verifiers do not need, or publish only "x5t#S256"';
  throw new ConfigurationError(argument, `${expected}, got ${characters}; ${advice}`, { code: "invalid_certificate" });
}
