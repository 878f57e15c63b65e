import type { P256PublicJwk } from "../encoding/ec-point.ts";
import type { JwkInput, PublicJwk } from "../encoding/public-jwk.ts";
import type { Signer } from "../signer/contract.ts";

/**
 * One signing key of the set, in order. `keyId` defaults to the RFC 7638 thumbprint. The second form is
 * published and never signs (a retiring key whose signer is gone).
 */
export type KeySetEntry =
  | { readonly keyId?: string | undefined; readonly signer: Signer }
  | { readonly keyId?: string | undefined; readonly publicKey: JwkInput | string };

/** A public encryption key: RSA of at least 2048 bits or EC P-256, P-384 or P-521, as a JWK or SPKI PEM. */
export interface EncryptionKey {
  /** The `kid`. Default: the RFC 7638 thumbprint. */
  readonly keyId?: string | undefined;
  /** JWK or SPKI PEM. Private members are refused. */
  readonly publicKey: JwkInput | string;
  /** Default `RSA-OAEP-256` for RSA and `ECDH-ES` for EC. */
  readonly alg?: string | undefined;
}

/** A public key of an OP that is moving to ES256: published, never signing. */
export interface LegacyKey {
  /** The `kid`. Default: the RFC 7638 thumbprint. */
  readonly keyId?: string | undefined;
  /** JWK or SPKI PEM. Private members are refused. */
  readonly publicKey: JwkInput | string;
  /** What the key signed with: RSA keys RS256 or PS256, Ed25519 keys EdDSA. */
  readonly alg: "RS256" | "PS256" | "EdDSA";
}

/**
 * `retiring` and `legacy` keys only verify; `encryption` keys are for RPs to encrypt to. `announced` and `withdrawn` come
 * from a rotation schedule alone; a withdrawn key is in no published set.
 */
export type KeyRole = "active" | "announced" | "retiring" | "withdrawn" | "legacy" | "encryption";

/** A public key as it is published: `publicKey` holds the key members alone (`kty,crv,x,y` and so on). */
export interface PublishedKey {
  /** The `kid` (RFC 7517 section 4.5). */
  readonly keyId: string;
  /** The key members alone. */
  readonly publicKey: PublicJwk;
  /** The `alg` (RFC 7517 section 4.4). */
  readonly alg: string;
  /** The `use` (RFC 7517 section 4.2). */
  readonly use: "sig" | "enc";
  /** What the key is for at this moment. It is not published. */
  readonly role: KeyRole;
}

/** The entry that signs. It comes only from a set's `active`. */
export interface ActiveKey {
  /** The `kid` of the headers that it signs. */
  readonly keyId: string;
  /** The published key, against which each signature is verified. */
  readonly publicKey: P256PublicJwk;
  /** What signs. Who opened it closes it. */
  readonly signer: Signer;
}

/** Immutable. Made by `createKeySet`, validated, frozen and serialised at once. */
export interface KeySet {
  /** The entry that signs: the first one. */
  readonly active: ActiveKey;
  /** In the order of the document. */
  readonly keys: readonly PublishedKey[];
  /** Byte-equal lookup; never another key. */
  find(keyId: string): PublishedKey | undefined;
}

/**
 * When the set and the cache mode change, as a pure function of the entries and the clock. Made by
 * `createRotationSchedule`.
 */
export interface RotationSchedule {
  /** The set that holds now. The same object until something changed. */
  readonly keySet: () => KeySet;
  /** For the endpoint's `jwksRotationActive`: from each announcement until `rotationWindowHours` after the activation. */
  readonly jwksRotationActive: () => boolean;
  /** Keys that are published no more and only serve to accept an expired `id_token_hint`. The same array until something changed. */
  readonly withdrawn: () => readonly PublishedKey[];
  /** The next moment at which any of the above changes, or null. */
  readonly nextChange: () => Date | null;
  /**
   * The latest `exp` that a token signed now may have: `maxTokenLifetimeSeconds` and the clock skew from now. Seconds since
   * the epoch. The token's key stays published until then.
   */
  readonly latestExpiry: () => number;
}

/**
 * The OP's own keys for signing: a set, a function that returns the one of this moment, or a rotation schedule. A
 * function returns the same object until something changed: everything cached hangs on that identity.
 */
export type KeySetSource = KeySet | (() => KeySet) | RotationSchedule;

/**
 * The OP's own keys, wherever something is made from them: a `KeySetSource`, or the list of entries itself, which is
 * read once. A schedule brings its cache mode and its withdrawn keys with it.
 */
export type OwnKeys = KeySetSource | readonly KeySetEntry[];

/** The exact bytes of the published set and their strong entity tag (RFC 9110 section 8.8.3). */
export interface JwksDocument {
  /** Compact JSON in UTF-8. To be read and not changed. */
  readonly body: Uint8Array;
  /** The lower-case SHA-256 hex of the body, in quotes. */
  readonly etag: string;
}
