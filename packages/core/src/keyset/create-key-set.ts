import { ConfigurationError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { PublishedKeySet } from "./published-set.ts";
import { readEncryptionKey, readLegacyKey, readSigningEntry } from "./read-keys.ts";
import type { EncryptionKey, KeySet, KeySetEntry, LegacyKey, PublishedKey } from "./types.ts";

/** The keys of a set besides those that sign ES256. */
export interface KeySetOptions {
  /** Public encryption keys, published after all signing keys with `use: "enc"`. Default none. */
  readonly encryptionKeyset?: readonly EncryptionKey[] | undefined;
  /**
   * Public RS256, PS256 or EdDSA keys of an OP that is moving to ES256, published between the signing and the
   * encryption keys for the time of the move. They never sign. Default none.
   */
  readonly legacyVerificationKeys?: readonly LegacyKey[] | undefined;
}

/**
 * Makes the immutable set of an OP's keys. The first entry is the active one and signs; the later ones are retiring:
 * they stay published so that RPs can verify the tokens they have. The public keys are read, the document and its ETag
 * computed here and never again. The set owns no signer: close them where they were opened.
 *
 * `keyId` becomes the `kid`: 1 to 256 characters, unique in the whole set. It defaults to the RFC 7638 thumbprint.
 *
 * @throws ConfigurationError naming the entry, for example `entries[1].publicKey`: no entry at all, a first entry
 * without a signer, a key that is not on P-256 or not strictly encoded (RFC 7518 section 6.2.1), a private member, a
 * duplicate `keyId`, an encryption key that is neither RSA of 2048 bits or more nor EC, or a JWK whose own `kid`, `alg`
 * or `use` contradicts what would be published.
 * @example
 * ```ts
 * import { createKeySet, type KeySet, type Signer } from "@signpost/core";
 *
 * export function afterRotation(next: Signer, previous: Signer): KeySet {
 *   return createKeySet([
 *     { keyId: "sig-2026-02", signer: next },
 *     { keyId: "sig-2026-01", publicKey: { ...previous.publicKey } },
 *   ]);
 * }
 * ```
 */
export function createKeySet(entries: readonly KeySetEntry[], options: KeySetOptions = {}): KeySet {
  assertOptions("options", options, KEY_SET_OPTIONS);
  return readKeySet("entries", entries, options);
}

export const KEY_SET_OPTIONS: OptionNames<KeySetOptions> = { encryptionKeyset: true, legacyVerificationKeys: true };

/** As `createKeySet`, for a list that the caller knows as `argument`. */
export function readKeySet(argument: string, entries: readonly KeySetEntry[], options: KeySetOptions): KeySet {
  const [first, ...later] = readList(argument, entries);
  if (first === undefined) throw new ConfigurationError(argument, "expected at least one signing entry");
  const { published: active, signer } = readSigningEntry(first, `${argument}[0]`, "active");
  if (signer === undefined) {
    throw new ConfigurationError(`${argument}[0]`, "expected a signer: the first entry is the one that signs");
  }
  const keys: readonly PublishedKey[] = [
    active,
    ...later.map((entry, index) => readSigningEntry(entry, `${argument}[${index + 1}]`, "retiring").published),
    ...readTrailingKeys(options),
  ];
  refuseDuplicates(argument, keys);
  return new PublishedKeySet(Object.freeze({ keyId: active.keyId, publicKey: active.publicKey, signer }), keys);
}

/** The keys behind the signing keys, in the order of the document. */
export function readTrailingKeys({
  legacyVerificationKeys = [],
  encryptionKeyset = [],
}: KeySetOptions): readonly PublishedKey[] {
  return [
    ...readList("legacyVerificationKeys", legacyVerificationKeys).map((key, index) =>
      readLegacyKey(key, `legacyVerificationKeys[${index}]`),
    ),
    ...readList("encryptionKeyset", encryptionKeyset).map((key, index) =>
      readEncryptionKey(key, `encryptionKeyset[${index}]`),
    ),
  ];
}

export function readList(argument: string, value: unknown): readonly unknown[] {
  // `Array.from` also fills the holes of a sparse array, which `map` would step over.
  if (Array.isArray(value)) return Array.from<unknown>(value);
  throw new ConfigurationError(argument, "expected an array");
}

export function refuseDuplicates(argument: string, keys: readonly PublishedKey[]): void {
  const seen = new Set<string>();
  for (const { keyId } of keys) {
    if (seen.has(keyId)) {
      throw new ConfigurationError(
        argument,
        `expected each keyId once in the whole set, got ${JSON.stringify(keyId)} twice`,
      );
    }
    seen.add(keyId);
  }
}
