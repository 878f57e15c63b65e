// Messages between the caller's thread and a worker thread. Plain data only, because they are cloned. For a signature, a
// key number and 32 bytes go in, and 64 bytes come out.

import type { CkrCode } from "../cryptoki/call.ts";
import type {
  PrivateKeyDescription,
  TokenCertificates,
  TokenDescription,
  TokenList,
} from "../cryptoki/descriptions.ts";
import type { PrivateKeyQuery } from "../request/key-request.ts";
import type { Gate } from "./gate.ts";

/** Whether a session is logged in, and what the token says about its PIN. */
export interface LoginState {
  /** The token requires C_Login before it shows private keys, and no one has logged in yet. */
  readonly loginNeeded: boolean;
  /** No login needed: the token has none, or another session of this process is logged in. */
  readonly loggedIn: boolean;
  /** Flags of CK_TOKEN_INFO, read now. */
  readonly tokenFlags: number;
}

/** Whether the threads of a process share one instance of a module, or each has one (p11-kit's client). */
export type ModuleInstance = "shared" | "own";

/** A module by its path, and its parameters for C_Initialize. */
export interface ModuleFile {
  readonly module: string;
  readonly libraryParameters: string | undefined;
}

/** A token, and the slot where it was last seen. */
export type TokenInSlot = Pick<TokenDescription, "slotId" | "label" | "serial">;

/** Commands by name, each with its input and output. */
export interface Commands {
  /** Loads the module. */
  load: [input: ModuleFile, output: null];
  /** C_Initialize. `initialized`: it returned CKR_OK, so no other code had done it. */
  attach: [input: null, output: { readonly initialized: boolean; readonly instance: ModuleInstance }];
  /** Undoes what `attach` did, if anything. For a thread whose `attach` came back too late. */
  undoAttach: [input: null, output: null];
  /** From now on commands pass through this gate. */
  useGate: [input: { readonly gate: Gate }, output: null];
  /**
   * C_Finalize, if `finalize` is set, then C_Initialize with no other call between them. Does nothing if the gate's
   * generation has changed, because other code has already done it. `initialized`: one of our threads has initialized the
   * module again. `finalized`: any code has finalized and initialized it since.
   */
  renew: [
    input: { readonly finalize: boolean; readonly generation: number },
    output: { readonly initialized: boolean; readonly finalized: boolean },
  ];
  /**
   * Loads the module in a thread other than the one that attached to it. If each thread has an instance, initializes this
   * one's; `owner` says so.
   */
  initialize: [
    input: ModuleFile & { readonly gate: Gate; readonly instance: ModuleInstance },
    output: { readonly owner: boolean },
  ];
  /**
   * Closes the session. `gone`: other code finalized the module. Another session may have the handle by now, so it is only
   * forgotten. Calls C_Finalize when `module` is true.
   */
  finalize: [input: { readonly module: boolean; readonly gone?: boolean }, output: null];
  tokens: [input: null, output: TokenList];
  /** The certificates of a token, read in a session that is closed afterward. Logs in nowhere. */
  certificates: [input: { readonly token: TokenInSlot }, output: TokenCertificates];
  /**
   * Opens a session, then closes the previous one. CKR_TOKEN_NOT_PRESENT, then and later, when another token is in the
   * slot.
   */
  openSession: [input: { readonly token: TokenInSlot }, output: LoginState];
  /** The state of the open session. */
  session: [input: null, output: LoginState];
  /** `covered`: another login of this process covers ours, and the token did not check the PIN. */
  login: [input: { readonly pin: string }, output: { readonly covered: boolean }];
  findKey: [input: { readonly key: number; readonly query: PrivateKeyQuery }, output: PrivateKeyDescription];
  forgetKey: [input: { readonly key: number }, output: null];
  /** C_SignInit, then the login that a key with CKA_ALWAYS_AUTHENTICATE requires. For the one `sign` that follows. */
  authenticate: [input: { readonly key: number; readonly pin: string }, output: null];
  sign: [input: { readonly key: number; readonly digest: Uint8Array }, output: Uint8Array];
}

/** A command by name. */
export type CommandName = keyof Commands;
export type CommandInput<Name extends CommandName> = Commands[Name][0];
export type CommandOutput<Name extends CommandName> = Commands[Name][1];

/** Sends a command to one thread. Rejects with `timeout` if it does not return within `hangMs`. */
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

/** Why a command failed. Never holds a PIN or a digest. */
export type Failure =
  /** A CKR code other than CKR_OK. `generation`: the gate's, at that time. */
  | {
      readonly kind: "cryptoki";
      readonly call: string;
      readonly code: CkrCode;
      readonly generation?: number | undefined;
    }
  /** The module's path is wrong, or the file there. */
  | { readonly kind: "module"; readonly message: string }
  /** pkcs11js is missing or was not built. */
  | { readonly kind: "binding"; readonly message: string }
  /** The result of the search for the key. */
  | {
      readonly kind: "key";
      readonly code: "key_not_found" | "ambiguous_key" | "unsupported_key";
      readonly message: string;
      /** The search ran without a login, and the token's flags ask for none. Keys may still be hidden. */
      readonly withoutLogin: boolean;
    }
  /** C_Sign returned CKR_OK with something other than a 64-byte signature. */
  | { readonly kind: "signature"; readonly message: string }
  | { readonly kind: "internal"; readonly message: string };

/** The data that a worker thread starts with. */
export interface ThreadData {
  /** Set to 1, and notified, when the thread has closed everything after `SHUTDOWN`. */
  readonly done: Int32Array<SharedArrayBuffer>;
  /** The memory of its mailbox. */
  readonly mailbox: SharedArrayBuffer;
}

/** Sent instead of a request when the process exits. The thread closes everything, and calls C_Finalize too when true. */
export interface Shutdown {
  readonly shutdown: true;
  readonly finalize: boolean;
}
