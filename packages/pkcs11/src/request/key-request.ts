import type { P256PublicJwk } from "@signpost/core";
import type { TokenDescription } from "../cryptoki/descriptions.ts";
import type { PinSource } from "./pin.ts";
import type { TokenSelector } from "./select-token.ts";

/** Selects one private key on a token. Absent members match every key. */
export interface PrivateKeyQuery {
  /** CKA_LABEL of the private key, as bytes: it need not be UTF-8. */
  readonly object?: Uint8Array | undefined;
  /** CKA_ID of the private key, opaque bytes. */
  readonly id?: Uint8Array | undefined;
}

/** How to find the same key again. If it has an id, another key that now has its label does not match. */
export function queryAgain(query: PrivateKeyQuery, { id }: { readonly id: Uint8Array }): PrivateKeyQuery {
  return id.length === 0 ? query : { ...query, id };
}

/** What a key that was open before must still match. */
export interface KeyBefore {
  /** Takes precedence over the selector, which other tokens may match by now. */
  readonly token: TokenDescription;
  readonly publicKey: P256PublicJwk;
}

/** Which token to use. */
export interface TokenRequest {
  readonly module: string;
  /** Passed to C_Initialize (`pReserved`), for the few modules that need it. */
  readonly libraryParameters: string | undefined;
  readonly selector: TokenSelector;
}

/** Which key to open, and how. */
export interface KeyRequest extends TokenRequest {
  /** For a key that was open in an earlier child process. */
  readonly before?: KeyBefore | undefined;
  readonly query: PrivateKeyQuery;
  readonly pin: PinSource;
  readonly sessions: number;
  /** A call that runs longer counts as hanging. Milliseconds. */
  readonly hangMs: number;
  /** Given by the caller. Replaces what the token's public objects hold. */
  readonly publicKey: P256PublicJwk | undefined;
}
