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

/** Everything that says which key is meant, and how it is opened. */
export interface KeyRequest {
  readonly module: string;
  /** Passed to C_Initialize (`pReserved`), for the few modules that want it. */
  readonly libraryParameters: string | undefined;
  readonly selector: TokenSelector;
  /** The token that was found before, in another child process: it comes before the selector, which others may match by now. */
  readonly tokenBefore?: TokenDescription | undefined;
  readonly query: PrivateKeyQuery;
  readonly pin: PinSource;
  readonly sessions: number;
  /** A call that runs longer hangs. Milliseconds. */
  readonly hangMs: number;
  /** Given by the caller, instead of what the token's public objects say. */
  readonly publicKey: P256PublicJwk | undefined;
}
