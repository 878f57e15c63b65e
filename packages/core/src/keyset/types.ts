import type { EntryCertificates, KeyCertificates } from "../certificate/read-certificates.ts";
import type { P256PublicJwk } from "../encoding/ec-point.ts";
import type { JwkInput, PublicJwk } from "../encoding/public-jwk.ts";
import type { Signer } from "../signer/contract.ts";

/**
 * One signing key of the set. `keyId` defaults to the RFC 7638 thumbprint. The second form, without a signer, is published
 * but never signs: a retiring key whose signer is gone. With `certificates`, the chain of the key is checked, and published in
 * the members `x5c` and `x5t#S256`.
 */
export type KeySetEntry = {
  readonly keyId?: string | undefined;
  readonly certificates?: EntryCertificates | undefined;
} & ({ readonly signer: Signer } | { readonly publicKey: JwkInput | string });

/** A public encryption key, as a JWK or SPKI PEM: RSA with at least 2048 bits, or EC P-256, P-384 or P-521. */
export interface EncryptionKey {
  /** The `kid`. Default: the RFC 7638 thumbprint. */
  readonly keyId?: string | undefined;
  /** JWK or SPKI PEM. Private members are refused. */
  readonly publicKey: JwkInput | string;
  /** Default `RSA-OAEP-256` for RSA and `ECDH-ES` for EC. */
  readonly alg?: string | undefined;
}

/** An old public key of an OP that is moving to ES256. It is published but never signs. */
export interface LegacyKey {
  /** The `kid`. Default: the RFC 7638 thumbprint. */
  readonly keyId?: string | undefined;
  /** JWK or SPKI PEM. Private members are refused. */
  readonly publicKey: JwkInput | string;
  /** The algorithm that the key signed with: RS256 or PS256 for an RSA key, EdDSA for an Ed25519 key. */
  readonly alg: "RS256" | "PS256" | "EdDSA";
}

/**
 * `retiring` and `legacy` keys only verify. RPs encrypt with `encryption` keys. Only a rotation schedule has `announced`
 * and `withdrawn` keys. A withdrawn key is not in the published set.
 */
export type KeyRole = "active" | "announced" | "retiring" | "withdrawn" | "legacy" | "encryption";

/** A public key as it is published. `publicKey` contains only the key members (`kty`, `crv`, `x`, `y` and so on). */
export interface PublishedKey {
  /** The `kid` (RFC 7517 section 4.5). */
  readonly keyId: string;
  /** Only the key members. */
  readonly publicKey: PublicJwk;
  /** The `alg` (RFC 7517 section 4.4). */
  readonly alg: string;
  /** The `use` (RFC 7517 section 4.2). */
  readonly use: "sig" | "enc";
  /** What the key is used for at this time. Not part of the document. */
  readonly role: KeyRole;
  /** Its certificates. Absent if its entry has none. */
  readonly certificates?: KeyCertificates;
}

/** The entry that signs. It can only come from the `active` member of a set. */
export interface ActiveKey {
  /** The `kid` in the header of each token that it signs. */
  readonly keyId: string;
  /** The published key. Signatures are verified with it. */
  readonly publicKey: P256PublicJwk;
  /** The signer. Close it where you opened it. */
  readonly signer: Signer;
  /** Its certificates. Absent if its entry has none. */
  readonly certificates?: KeyCertificates;
}

/** An immutable set of keys. `createKeySet` validates it, freezes it and serializes it once. */
export interface KeySet {
  /** The entry that signs: the first one. */
  readonly active: ActiveKey;
  /** In the order of the document. */
  readonly keys: readonly PublishedKey[];
  /** The key with exactly this `kid`, compared byte by byte. */
  find(keyId: string): PublishedKey | undefined;
}

/**
 * The key set and the cache mode as a pure function of the entries and the clock. Created by `createRotationSchedule`.
 */
export interface RotationSchedule {
  /** The current set. The same object until something changes. */
  readonly keySet: () => KeySet;
  /** For the endpoint's `jwksRotationActive`: from each announcement until `rotationWindowHours` after the activation. */
  readonly jwksRotationActive: () => boolean;
  /** Keys that are no longer published, and only verify an expired `id_token_hint`. The same array until something changes. */
  readonly withdrawn: () => readonly PublishedKey[];
  /** When any of the above changes next, or null. */
  readonly nextChange: () => Date | null;
  /**
   * The latest `exp` that a token signed now may have: now plus `maxTokenLifetimeSeconds` plus the clock skew. Seconds
   * since 1970. The token's key stays published until then. With the kid of a key that no longer signs, counted from when
   * it was replaced.
   */
  readonly latestExpiry: (keyId?: string) => number;
}

/**
 * The OP's own keys for signing: a set, a function that returns the current set, or a rotation schedule. A function must
 * return the same object until something changes, because caches depend on its identity.
 */
export type KeySetSource = KeySet | (() => KeySet) | RotationSchedule;

/**
 * The OP's own keys, as the option `keys` accepts them: a `KeySetSource`, or a list of entries, which is read once. A
 * schedule also provides its cache mode and its withdrawn keys.
 */
export type OwnKeys = KeySetSource | readonly KeySetEntry[];

/** The exact bytes of the published set and their strong entity tag (RFC 9110 section 8.8.3). */
export interface JwksDocument {
  /** Compact JSON in UTF-8. Do not change it. */
  readonly body: Uint8Array;
  /** The lower-case SHA-256 hex of the body, in quotes. */
  readonly etag: string;
}
