// A module's description of itself, its tokens and their keys, as plain data.

import type { CkrCode } from "./call.ts";

/** The token's description of the one private key that matched, and every public half found for it. */
export interface PrivateKeyDescription {
  /** CKA_LABEL, which need not be UTF-8. */
  readonly label: Uint8Array;
  readonly id: Uint8Array;
  /** CKA_ALWAYS_AUTHENTICATE: each signature needs its own login. */
  readonly alwaysAuthenticate: boolean;
  /** CKA_EC_POINT values, as the module gave them. */
  readonly ecPoints: readonly Uint8Array[];
  /** CKA_PUBLIC_KEY_INFO values (DER SubjectPublicKeyInfo). */
  readonly publicKeyInfos: readonly Uint8Array[];
  /** CKA_VALUE of X.509 certificate objects with the same CKA_ID. */
  readonly certificates: readonly Uint8Array[];
  /** The first refusal of the module to a request for the public half. The public half may exist but be hidden. */
  readonly untold: { readonly call: string; readonly code: CkrCode } | undefined;
}

/** An object of a token: a certificate, or a key whose CKA_ID may be that of certificates. */
export interface NamedObject {
  /** CKA_LABEL, which need not be UTF-8. */
  readonly label: Uint8Array;
  /** CKA_ID, or no bytes. */
  readonly id: Uint8Array;
}

/** An X.509 certificate of a token. */
export interface CertificateObject extends NamedObject {
  /** CKA_VALUE, as the module gave it. */
  readonly value: Uint8Array;
}

/** What a token shows of certificates to the session that asks. */
export interface TokenCertificates {
  readonly certificates: readonly CertificateObject[];
  /** Public and private keys. Tokens hide private keys before a login. */
  readonly keys: readonly NamedObject[];
}

/** CK_INFO of a module, its texts trimmed of padding. */
export interface LibraryDescription {
  readonly manufacturer: string;
  readonly description: string;
  readonly version: string;
}

/** A slot with a token, its texts trimmed of padding. */
export interface TokenDescription {
  /** The slot number in decimal digits. It may be above 2^53. */
  readonly slotId: string;
  readonly slotDescription: string;
  readonly slotManufacturer: string;
  readonly label: string;
  readonly serial: string;
  readonly manufacturer: string;
  readonly model: string;
  /** CKF_TOKEN_INITIALIZED. A blank slot is listed too, without this flag. */
  readonly initialized: boolean;
  /** ulMaxSessionCount. 0 when the token names no limit. */
  readonly maxSessions: number;
}

/** A slot with a token that the module cannot describe now. */
export interface UnreadableSlot {
  readonly slotId: string;
  /** The CKR code of C_GetTokenInfo. */
  readonly code: CkrCode;
}

/** A module with every slot that holds a token. */
export interface TokenList {
  readonly library: LibraryDescription;
  readonly tokens: readonly TokenDescription[];
  /** Any of these may be the token that is wanted. */
  readonly unreadable: readonly UnreadableSlot[];
}
