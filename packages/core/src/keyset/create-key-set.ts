import { requireValid } from "../certificate/validity.ts";
import { ConfigurationError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { given } from "../given.ts";
import { readClock } from "../options/read-clock.ts";
import type { Signer } from "../signer/contract.ts";
import { certificateCharacters, requireRoom } from "./certificates.ts";
import { PublishedKeySet } from "./published-set.ts";
import { readEncryptionKey, readLegacyKey, readSigningEntry, type ReadSigningEntry } from "./read-keys.ts";
import type { ActiveKey, EncryptionKey, KeySet, KeySetEntry, LegacyKey, PublishedKey } from "./types.ts";

/** The other keys of a set: those that do not sign ES256. And the clock for its certificates. */
export interface KeySetOptions {
  /** Public encryption keys, published after all signing keys with `use: "enc"`. Default none. */
  readonly encryptionKeyset?: readonly EncryptionKey[] | undefined;
  /**
   * Public RS256, PS256 or EdDSA keys of an OP that is moving to ES256. They are published during the move, between the
   * signing and the encryption keys, and never sign. Default none.
   */
  readonly legacyVerificationKeys?: readonly LegacyKey[] | undefined;
  /** The clock for the validity of certificates, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * Creates the immutable set of an OP's keys. The first entry is active: it signs. The others are retiring: they stay
 * published so that RPs can verify the tokens they already have. The public keys are read once, here, and the document
 * and its ETag are computed once. The set does not close its signers. Close them where you opened them.
 *
 * `keyId` becomes the `kid`: 1 to 256 characters, unique in the set. It defaults to the RFC 7638 thumbprint.
 *
 * @throws ConfigurationError that names the entry, for example `entries[1].publicKey`: no entry at all, a first entry
 * without a signer, a key that is not on P-256 or not strictly encoded (RFC 7518 section 6.2.1), a private member, a
 * duplicate `keyId`, certificates that do not belong to the key or are not valid now, an encryption key that is neither RSA with at least 2048 bits nor EC, or a JWK with a `kid`, `alg`
 * or `use` that differs from what would be published.
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

export const KEY_SET_OPTIONS: OptionNames<KeySetOptions> = {
  encryptionKeyset: true,
  legacyVerificationKeys: true,
  now: true,
};

/** Same as `createKeySet`. Messages call the list `argument`. */
export function readKeySet(argument: string, entries: readonly KeySetEntry[], options: KeySetOptions): KeySet {
  const [first, ...later] = readList(argument, entries);
  if (first === undefined) throw new ConfigurationError(argument, "expected at least one signing entry");
  const time = readClock(options.now ?? Date.now);
  const read = (entry: unknown, index: number, role: "active" | "retiring"): ReadSigningEntry => {
    const place = `${argument}[${index}]`;
    const key = readSigningEntry(entry, place, role);
    requireValid({ ...key.published, argument: place }, time);
    return key;
  };
  const { published: active, signer } = read(first, 0, "active");
  if (signer === undefined) {
    throw new ConfigurationError(`${argument}[0]`, "expected a signer: the first entry signs");
  }
  const keys: readonly PublishedKey[] = [
    active,
    ...later.map((entry, index) => read(entry, index + 1, "retiring").published),
    ...readTrailingKeys(options),
  ];
  refuseDuplicates(argument, keys);
  requireRoom(argument, certificateCharacters(keys));
  return new PublishedKeySet(activeKeyFrom(active, signer), keys);
}

/** The key that signs, with what is published of it. */
export function activeKeyFrom(
  { keyId, publicKey, certificates }: ReadSigningEntry["published"],
  signer: Signer,
): ActiveKey {
  return Object.freeze({ keyId, publicKey, signer, ...(certificates === undefined ? {} : { certificates }) });
}

/** The keys after the signing keys, in the order of the document. */
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
  // `Array.from` also fills the holes of a sparse array, which `map` would skip.
  if (Array.isArray(value)) return Array.from<unknown>(value);
  throw new ConfigurationError(argument, `expected an array, got ${given(value)}`);
}

export function refuseDuplicates(argument: string, keys: readonly PublishedKey[]): void {
  const check = createKidCheck(argument);
  for (const key of keys) check(key);
}

/** Refuses each key whose kid an earlier one has. */
export function createKidCheck(argument: string): (key: PublishedKey) => void {
  const seen = new Set<string>();
  return ({ keyId }) => {
    if (seen.has(keyId)) {
      throw new ConfigurationError(
        argument,
        `each keyId must be unique in the set, got ${JSON.stringify(keyId)} twice`,
      );
    }
    seen.add(keyId);
  };
}
