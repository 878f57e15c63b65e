// What a module says of itself, its tokens and their keys, as plain data.

/** What the token says about the one private key that matched, and every public half found for it. */
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
  /** What the module refused first of all that may tell the public half. There may be one that it does not show. */
  readonly untold: { readonly call: string; readonly code: number } | undefined;
}

/** CK_INFO of a module, its texts trimmed of padding. */
export interface LibraryDescription {
  readonly manufacturer: string;
  readonly description: string;
  readonly version: string;
}

/** A slot with a token, its texts trimmed of padding. */
export interface TokenDescription {
  /** The number of its slot, in decimal digits: it may be above 2^53. */
  readonly slotId: string;
  readonly slotDescription: string;
  readonly slotManufacturer: string;
  readonly label: string;
  readonly serial: string;
  readonly manufacturer: string;
  readonly model: string;
  /** CKF_TOKEN_INITIALIZED: a blank slot is listed too, without it. */
  readonly initialized: boolean;
  /** ulMaxSessionCount, 0 when the token names no limit. */
  readonly maxSessions: number;
}

/** A slot that holds a token of which the module tells nothing now. */
export interface UnreadableSlot {
  readonly slotId: string;
  /** The CKR code of C_GetTokenInfo. */
  readonly code: number;
}

/** A module with every slot that holds a token. */
export interface TokenList {
  readonly library: LibraryDescription;
  readonly tokens: readonly TokenDescription[];
  /** Any of them may be the token that is wanted. */
  readonly unreadable: readonly UnreadableSlot[];
}
