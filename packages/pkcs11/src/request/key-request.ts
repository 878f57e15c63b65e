import type { P256PublicJwk, SignerError, SignerHealth } from "@signpost/core";
import type { PinSource } from "./pin.ts";
import type { KeyQuery, TokenDescription } from "../wire/commands.ts";
import type { TokenSelector } from "./select-token.ts";

/** Everything that says which key is meant, and how it is opened. */
export interface KeyRequest {
  readonly module: string;
  /** Passed to C_Initialize (`pReserved`), for the few modules that want it. */
  readonly libraryParameters: string | undefined;
  readonly selector: TokenSelector;
  readonly query: KeyQuery;
  readonly pin: PinSource;
  readonly sessions: number;
  /** A call that runs longer hangs. Milliseconds. */
  readonly hangMs: number;
  /** Given by the caller, instead of what the token's public objects say. */
  readonly publicKey: P256PublicJwk | undefined;
}

/** A key that is open: found, checked and proven. */
export interface OpenKey {
  readonly publicKey: P256PublicJwk;
  readonly token: TokenDescription;
  readonly label: string;
  readonly id: Uint8Array;
  /** Signatures at once. */
  readonly sessions: number;
  /** One attempt. */
  sign(digest: Uint8Array, signal: AbortSignal | undefined): Promise<Uint8Array>;
  status(): SignerHealth["status"];
  notes(): readonly string[];
  /** Calls that hang inside the module. */
  hanging(): number;
  /** What the token answered to a PIN, once it has refused one: nobody tries another. */
  refusal(): SignerError | undefined;
  close(): Promise<void>;
}
