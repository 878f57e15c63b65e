import type { JsonWebKey } from "node:crypto";
import type { P256PublicJwk } from "../encoding/p256-public-jwk.ts";
import type { JwkInput } from "../encoding/public-members.ts";
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
  readonly keyId?: string | undefined;
  readonly publicKey: JwkInput | string;
  /** Default `RSA-OAEP-256` for RSA and `ECDH-ES` for EC. */
  readonly alg?: string | undefined;
}

/** A public key of an OP that is moving to ES256: published, never signing. */
export interface LegacyKey {
  readonly keyId?: string | undefined;
  readonly publicKey: JwkInput | string;
  readonly alg: "RS256" | "PS256" | "EdDSA";
}

/**
 * `retiring` and `legacy` keys only verify; `encryption` keys are for RPs to encrypt to. `announced` and `withdrawn` come
 * from a rotation schedule alone; a withdrawn key is in no published set.
 */
export type KeyRole = "active" | "announced" | "retiring" | "withdrawn" | "legacy" | "encryption";

/** A public key as it is published: `publicKey` holds the key members alone (`kty,crv,x,y` and so on). */
export interface PublishedKey {
  readonly keyId: string;
  readonly publicKey: Readonly<JsonWebKey>;
  readonly alg: string;
  readonly use: "sig" | "enc";
  readonly role: KeyRole;
}

/** The entry that signs. It comes only from a set's `active`. */
export interface ActiveKey {
  readonly keyId: string;
  readonly publicKey: P256PublicJwk;
  readonly signer: Signer;
}

/** Immutable. Made by `createKeySet`, validated, frozen and serialised at once. */
export interface KeySet {
  readonly active: ActiveKey;
  /** In the order of the document. */
  readonly keys: readonly PublishedKey[];
  /** Byte-equal lookup; never another key. */
  find(keyId: string): PublishedKey | undefined;
}

/** A function returns the same object until something changed: everything cached hangs on that identity. */
export type KeySetSource = KeySet | (() => KeySet);

/** The exact bytes of the published set and their strong entity tag (RFC 9110 section 8.8.3). */
export interface JwksDocument {
  readonly body: Uint8Array;
  readonly etag: string;
}
