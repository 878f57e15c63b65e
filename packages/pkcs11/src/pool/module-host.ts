import type { CommandInput } from "../wire/commands.ts";

/** What the sessions of a token need of the module. */
export interface ModuleHost {
  initializeInput(): CommandInput<"initialize">;
  /** C_Initialize answered CKR_OK to us: we may finalise the module. */
  owner(): boolean;
  /** Initialises the module anew and restores every session. False when that is not possible, or not yet, or in vain. */
  reinitialize(cause: unknown): Promise<boolean>;
  /** When `reinitialize` may finalise again. Milliseconds from now. */
  reinitializeInMs(): number;
  /** Resolves once no fresh start is under way. */
  settled(): Promise<void>;
  /** A call hangs inside the module, or came back. */
  hanging(difference: 1 | -1): void;
  /** Calls that hang inside the module, whatever made them. */
  hangingCalls(): number;
}
