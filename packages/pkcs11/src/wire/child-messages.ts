// Messages between the process that signs and the child process that holds the module. They are cloned (`serialization:
// "advanced"`), so bytes stay bytes. A PIN is sent only when a login asks for it, never in arguments or the environment.
import type { SignerHealth } from "@signpost/core";
import type { KeyRequest, TokenRequest } from "../request/key-request.ts";
import type { PinOutcome, PinVerdict } from "./pin-outcomes.ts";
import type { SigningKeyDescription } from "./signing-key.ts";
import type { TokenName } from "./token-name.ts";
import type { WireError } from "./wire-error.ts";

/** The child's input for opening a key. */
export type OpenInput = Omit<KeyRequest, "pin"> & {
  /** The number of its PIN source in the parent, and the source's name for people. */
  readonly pin: number;
  readonly pinName: string;
};

/** A key that the child has open, by its number there. */
export interface OpenedInChild extends SigningKeyDescription {
  readonly key: number;
}

/** A signature, and the number of the child's session that made it. A reopened session has a new number. */
export interface SignedInChild {
  readonly signature: Uint8Array;
  readonly session: number;
}

/** The state of a key in the child. */
export interface ChildKeyState {
  readonly status: SignerHealth["status"];
  readonly notes: readonly string[];
  /** Why no PIN is tried on its token any more. */
  readonly refusal: WireError | undefined;
}

/** Sent to the child. `call` numbers the calls that get an answer. */
export type ToChild =
  | { readonly type: "open"; readonly call: number; readonly input: OpenInput }
  | { readonly type: "sign"; readonly call: number; readonly key: number; readonly digest: Uint8Array }
  | { readonly type: "close"; readonly call: number; readonly key: number }
  | { readonly type: "certificates"; readonly call: number; readonly input: TokenRequest }
  /** No caller is waiting for it any more. */
  | { readonly type: "abort"; readonly call: number }
  | {
      readonly type: "pin";
      readonly question: number;
      readonly pin: string | undefined;
      /** Why there is no PIN. */
      readonly error: WireError | undefined;
    }
  | {
      readonly type: "pinVerdict";
      readonly question: number;
      readonly verdict: PinVerdict | undefined;
      readonly error: WireError | undefined;
    }
  | { readonly type: "stop" };

/** Sent by the child. */
export type ToParent =
  | { readonly type: "answer"; readonly call: number; readonly value: unknown }
  | { readonly type: "error"; readonly call: number; readonly error: WireError }
  /** A login on a token needs the PIN with this number. */
  | { readonly type: "pin"; readonly question: number; readonly pin: number; readonly token: TokenName }
  /** What happened to the PIN in the answer to a question. */
  | { readonly type: "pinOutcome"; readonly question: number; readonly outcome: PinOutcome }
  /** Asks whether it is the PIN that the token is logged in with, from the source `accepted` if that is known. */
  | {
      readonly type: "comparePin";
      readonly question: number;
      readonly pin: number;
      readonly token: TokenName;
      readonly accepted: number | undefined;
    }
  | { readonly type: "state"; readonly key: number; readonly state: ChildKeyState }
  /** A call is hanging inside the module. Only ending the process helps. */
  | { readonly type: "hung" }
  | { readonly type: "alive" };
