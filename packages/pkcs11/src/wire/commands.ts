// What passes between the thread of the caller and a worker thread. Plain data only: it is cloned on the way.
// On the path of a signature that is a key number and 32 bytes in, 64 bytes out.

import type { PrivateKeyDescription, TokenDescription, TokenList } from "../cryptoki/descriptions.ts";
import type { PrivateKeyQuery } from "../request/key-request.ts";
import type { Gate } from "./gate.ts";

/** Whether a session is logged in, and what the token says of its PIN. */
export interface LoginState {
  /** The token wants C_Login before it shows private keys, and nobody has logged in yet. */
  readonly loginNeeded: boolean;
  /** Nobody needs to: the token has no login, or another session of this process is logged in. */
  readonly loggedIn: boolean;
  /** Flags of CK_TOKEN_INFO, read now. */
  readonly tokenFlags: number;
}

/** Whether the threads of a process share one instance of a module, or each has its own (p11-kit's client). */
export type ModuleInstance = "shared" | "own";

/** A module by its path, and what it is initialized with. */
export interface ModuleFile {
  readonly module: string;
  readonly libraryParameters: string | undefined;
}

/** Which token is meant, and the slot where it was seen last. */
export type TokenInSlot = Pick<TokenDescription, "slotId" | "label" | "serial">;

/** Commands, by name, with what goes in and what comes out. */
export interface Commands {
  /** Loads the module. */
  load: [input: ModuleFile, output: null];
  /** C_Initialize. `initialized`: it answered CKR_OK, so that nobody else had done it. */
  attach: [input: null, output: { readonly initialized: boolean; readonly instance: ModuleInstance }];
  /** Takes back what `attach` has done, where it did anything. For a thread whose `attach` came back too late. */
  undoAttach: [input: null, output: null];
  /** From now on commands pass this gate. */
  useGate: [input: { readonly gate: Gate }, output: null];
  /**
   * C_Finalize, where `finalize` says so, and C_Initialize with nobody between. Not when the gate's generation is another
   * by now: somebody has done it already. `initialized`: the module lives anew, by this thread or by another of ours.
   * `finalized`: it was finalized and initialized since, by any code.
   */
  renew: [
    input: { readonly finalize: boolean; readonly generation: number },
    output: { readonly initialized: boolean; readonly finalized: boolean },
  ];
  /**
   * Loads the module in another thread than the one that attached to it, and initializes the thread's own instance where
   * there is one: `owner` then.
   */
  initialize: [
    input: ModuleFile & { readonly gate: Gate; readonly instance: ModuleInstance },
    output: { readonly owner: boolean },
  ];
  /**
   * Closes the session. `gone`: other code finalized the module, so the handle may be another session's by now, and is only
   * forgotten. C_Finalize when `module` is true.
   */
  finalize: [input: { readonly module: boolean; readonly gone?: boolean }, output: null];
  tokens: [input: null, output: TokenList];
  /** Opens a session, then closes the one before. CKR_TOKEN_NOT_PRESENT, then and later, when another token is in the slot. */
  openSession: [input: { readonly token: TokenInSlot }, output: LoginState];
  /** The state of the session that is open. */
  session: [input: null, output: LoginState];
  /** `covered`: somebody else's login in this process answered for ours, and the PIN was not looked at. */
  login: [input: { readonly pin: string }, output: { readonly covered: boolean }];
  findKey: [input: { readonly key: number; readonly query: PrivateKeyQuery }, output: PrivateKeyDescription];
  forgetKey: [input: { readonly key: number }, output: null];
  /** C_SignInit, and the login that a key with CKA_ALWAYS_AUTHENTICATE wants behind it: for the one `sign` that follows. */
  authenticate: [input: { readonly key: number; readonly pin: string }, output: null];
  sign: [input: { readonly key: number; readonly digest: Uint8Array }, output: Uint8Array];
}

/** A command, by its name. */
export type CommandName = keyof Commands;
export type CommandInput<Name extends CommandName> = Commands[Name][0];
export type CommandOutput<Name extends CommandName> = Commands[Name][1];

/** Sends a command to one thread. Rejects with `timeout` when it has not come back within `hangMs`. */
export type RunCommand = <Name extends CommandName>(
  name: Name,
  input: CommandInput<Name>,
  hangMs?: number,
) => Promise<CommandOutput<Name>>;

/** Sent to a thread. */
export interface CommandRequest {
  readonly id: number;
  readonly name: CommandName;
  readonly input: unknown;
}

/** Sent back by it. */
export type CommandAnswer =
  | { readonly id: number; readonly ok: true; readonly output: unknown }
  | { readonly id: number; readonly ok: false; readonly failure: Failure };

/** Why a command failed. None of these ever holds a PIN or a digest. */
export type Failure =
  /** A CKR code other than CKR_OK. */
  | { readonly kind: "cryptoki"; readonly call: string; readonly code: number }
  /** The module path, or what stands there. */
  | { readonly kind: "module"; readonly message: string }
  /** pkcs11js is missing or was not built. */
  | { readonly kind: "binding"; readonly message: string }
  /** The search for the key, answered. */
  | {
      readonly kind: "key";
      readonly code: "key_not_found" | "ambiguous_key" | "unsupported_key";
      readonly message: string;
      /** It was made without a login, and the flags of the token ask for none. Keys may be hidden all the same. */
      readonly withoutLogin: boolean;
    }
  /** C_Sign answered CKR_OK with something that is no signature of 64 bytes. */
  | { readonly kind: "signature"; readonly message: string }
  | { readonly kind: "internal"; readonly message: string };

/** What a worker thread is started with. */
export interface ThreadData {
  /** Set to 1, and notified, when the thread has closed everything after `SHUTDOWN`. */
  readonly done: Int32Array<SharedArrayBuffer>;
}

/** Sent instead of a request when the process exits: close everything, `finalize` too when true. */
export interface Shutdown {
  readonly shutdown: true;
  readonly finalize: boolean;
}
