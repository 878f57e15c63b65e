import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";

// Google's rules for the ids, where they distinguish names: https://cloud.google.com/kms/docs/reference/rest
const CRYPTO_KEY =
  /^projects\/[a-z0-9][a-z0-9.:-]*\/locations\/[a-z0-9-]+\/keyRings\/[A-Za-z0-9_-]{1,63}\/cryptoKeys\/[A-Za-z0-9_-]{1,63}$/;
// Versions count from 1. A leading zero would be a second spelling of one version.
const VERSION = /^(.+)\/(?:cryptoKeyVersions|versions)\/([1-9][0-9]{0,18})$/;

/** A parsed name: a version, or a key without a version. */
export type KeyName =
  | { readonly kind: "version"; readonly keyVersion: string }
  | { readonly kind: "key"; readonly cryptoKey: string };

/**
 * Reads a resource name. `…/versions/N`, which other tools write, is accepted and becomes `…/cryptoKeyVersions/N`. Case
 * is kept.
 */
export function parseKeyName(argument: string, name: unknown): KeyName {
  const text = typeof name === "string" ? name : "";
  const [, cryptoKey = text, version] = VERSION.exec(text) ?? [];
  if (!CRYPTO_KEY.test(cryptoKey)) {
    const expected = "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY/cryptoKeyVersions/N";
    throw new ConfigurationError(argument, `expected ${expected}, got ${shown(name)}`);
  }
  return version === undefined
    ? { kind: "key", cryptoKey }
    : { kind: "version", keyVersion: `${cryptoKey}/cryptoKeyVersions/${version}` };
}

// Segments of the API's names, without the characters of a password in a URL or of a query. A text without a slash may be a
// token or a key.
const NAME_LIKE = /^(?:[A-Za-z0-9_.:-]{1,64}\/){1,16}[A-Za-z0-9_.:-]{0,64}$/;

/** A name for a message. A text with other characters may be a secret, and is not shown. */
function shown(name: unknown): string {
  return typeof name === "string" && NAME_LIKE.test(name) ? name : given(name);
}

/** Reads the name of a key without a version. */
export function parseCryptoKey(name: unknown): string {
  const parsed = parseKeyName("cryptoKey", name);
  if (parsed.kind === "key") return parsed.cryptoKey;
  throw new ConfigurationError("cryptoKey", `expected the name of a key, without a version, got ${shown(name)}`);
}

/** Whether this is the name of a version, and not a part of a damaged name. */
export function isKeyVersionName(name: string): boolean {
  const [, cryptoKey] = VERSION.exec(name) ?? [];
  return cryptoKey !== undefined && CRYPTO_KEY.test(cryptoKey);
}

const PROJECT = /^projects\/([^/]+)(\/.+)$/;

/** The project at the beginning of a key's or version's name: its id, or its number. */
export function projectOf(name: string): string | undefined {
  return PROJECT.exec(name)?.[1];
}

/** Whether two names differ only in the project, which one names by its number and the other by its id. */
export function namesProjectOtherwise(name: string, other: string): boolean {
  const [, project = "", rest] = PROJECT.exec(name) ?? [];
  const [, otherProject = "", otherRest] = PROJECT.exec(other) ?? [];
  return rest !== undefined && rest === otherRest && /^\d+$/.test(project) !== /^\d+$/.test(otherProject);
}
