// What passes between the process that signs and the child process that holds the module. Cloned on the way
// (`serialization: "advanced"`), so bytes stay bytes. A PIN only travels when a login asks for it, never in arguments or environment.
import type { SignerHealth } from "@signpost/core";
import type { KeyRequest } from "../request/key-request.ts";
import type { SigningKeyDescription } from "./signing-key.ts";
import type { WireError } from "./wire-error.ts";

/** What a child needs to open a key. */
export type OpenInput = Omit<KeyRequest, "pin"> & {
  /** The same number for signers that give the same PIN. */
  readonly pin: number;
  /** Tokens on which no PIN may be tried. */
  readonly refused: readonly RefusedToken[];
};

/** A token that refused a PIN, and how. */
export interface RefusedToken {
  readonly label: string;
  readonly serial: string;
  readonly error: WireError;
}

/** A key that the child has open, by its number there. */
export interface OpenedInChild extends SigningKeyDescription {
  readonly key: number;
}

/** How a key is in the child. */
export interface ChildKeyState {
  readonly status: SignerHealth["status"];
  readonly notes: readonly string[];
  /** The token has refused its PIN. */
  readonly refusal: WireError | undefined;
}

/** Sent to the child. `call` numbers what is answered. */
export type ToChild =
  | { readonly type: "open"; readonly call: number; readonly input: OpenInput }
  | { readonly type: "sign"; readonly call: number; readonly key: number; readonly digest: Uint8Array }
  | { readonly type: "close"; readonly call: number; readonly key: number }
  /** Nobody waits for the call any more. */
  | { readonly type: "abort"; readonly call: number }
  | {
      readonly type: "pin";
      readonly question: number;
      readonly pin: string | undefined;
      /** Why there is none, where that is an error of the application. */
      readonly error: WireError | undefined;
    }
  | { readonly type: "stop" };

/** Sent by the child. */
export type ToParent =
  | { readonly type: "answer"; readonly call: number; readonly value: unknown }
  | { readonly type: "error"; readonly call: number; readonly error: WireError }
  /** A login needs the PIN with this number. */
  | { readonly type: "pin"; readonly question: number; readonly pin: number }
  | { readonly type: "state"; readonly key: number; readonly state: ChildKeyState }
  /** A call hangs inside the module: only the end of the process helps. */
  | { readonly type: "hung" }
  | { readonly type: "alive" };
