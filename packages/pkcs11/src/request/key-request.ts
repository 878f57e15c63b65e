import type { P256PublicJwk } from "@signpost/core";
import type { TokenDescription } from "../cryptoki/descriptions.ts";
import type { PinSource } from "./pin.ts";
import type { TokenSelector } from "./select-token.ts";

/** Which private key on a token is meant. Absent members match every key. */
export interface PrivateKeyQuery {
  /** CKA_LABEL of the private key, as bytes: it need not be UTF-8. */
  readonly object?: Uint8Array | undefined;
  /** CKA_ID of the private key, opaque bytes. */
  readonly id?: Uint8Array | undefined;
}

/** How a key that was found is found again: others that have its label by now are other keys, where it has an id. */
export function queryAgain(query: PrivateKeyQuery, { id }: { readonly id: Uint8Array }): PrivateKeyQuery {
  return id.length === 0 ? query : { ...query, id };
}

/** What a key is held to that was open before. */
export interface KeyBefore {
  /** It comes before the selector, which others may match by now. */
  readonly token: TokenDescription;
  readonly publicKey: P256PublicJwk;
}

/** Everything that says which key is meant, and how it is opened. */
export interface KeyRequest {
  readonly module: string;
  /** Passed to C_Initialize (`pReserved`), for the few modules that want it. */
  readonly libraryParameters: string | undefined;
  readonly selector: TokenSelector;
  /** Of a key that was open before, in another child process. */
  readonly before?: KeyBefore | undefined;
  readonly query: PrivateKeyQuery;
  readonly pin: PinSource;
  readonly sessions: number;
  /** A call that runs longer hangs. Milliseconds. */
  readonly hangMs: number;
  /** Given by the caller, instead of what the token's public objects say. */
  readonly publicKey: P256PublicJwk | undefined;
}
