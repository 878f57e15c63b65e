// What passes between the process that signs and the child process that holds the module. Cloned on the way
// (`serialization: "advanced"`), so bytes stay bytes. A PIN only travels when a login asks for it, never in arguments or environment.
import type { SignerHealth } from "@signpost/core";
import type { KeyRequest } from "../request/key-request.ts";
import type { PinOutcome, PinVerdict } from "./pin-outcomes.ts";
import type { SigningKeyDescription } from "./signing-key.ts";
import type { TokenName } from "./token-name.ts";
import type { WireError } from "./wire-error.ts";

/** What a child needs to open a key. */
export type OpenInput = Omit<KeyRequest, "pin"> & {
  /** The number of its source in the parent, and what people call it. */
  readonly pin: number;
  readonly pinName: string;
};

/** A key that the child has open, by its number there. */
export interface OpenedInChild extends SigningKeyDescription {
  readonly key: number;
}

/** A signature, and the number of the session that made it in the child: one that is opened again has another number. */
export interface SignedInChild {
  readonly signature: Uint8Array;
  readonly session: number;
}

/** How a key is in the child. */
export interface ChildKeyState {
  readonly status: SignerHealth["status"];
  readonly notes: readonly string[];
  /** Why no PIN is tried on its token any more. */
  readonly refusal: WireError | undefined;
}

/** Sent to the child. `call` numbers what is answered. */
export type ToChild =
  | { readonly type: "open"; readonly call: number; readonly input: OpenInput }
  | { readonly type: "sign"; readonly call: number; readonly key: number; readonly digest: Uint8Array }
  | { readonly type: "close"; readonly call: number; readonly key: number }
  /** No caller waits for it any more. */
  | { readonly type: "abort"; readonly call: number }
  | {
      readonly type: "pin";
      readonly question: number;
      readonly pin: string | undefined;
      /** Why there is none. */
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
  /** What became of the PIN that answered a question. */
  | { readonly type: "pinOutcome"; readonly question: number; readonly outcome: PinOutcome }
  /** Is it the PIN that the token is logged in with, of the source `accepted` where that is known? */
  | {
      readonly type: "comparePin";
      readonly question: number;
      readonly pin: number;
      readonly token: TokenName;
      readonly accepted: number | undefined;
    }
  | { readonly type: "state"; readonly key: number; readonly state: ChildKeyState }
  /** A call hangs inside the module: only the end of the process helps. */
  | { readonly type: "hung" }
  | { readonly type: "alive" };
