import { type Binding, loadModule, ModuleError } from "../cryptoki/binding.ts";
import { codeFrom, cryptoki, CryptokiError } from "../cryptoki/call.ts";
import {
  CKF_OS_LOCKING_OK,
  CKR_CRYPTOKI_ALREADY_INITIALIZED,
  CKR_CRYPTOKI_NOT_INITIALIZED,
} from "../cryptoki/constants.ts";
import type { CommandOutput, ModuleFile, ModuleInstance } from "../wire/commands.ts";
import { type Gate, generation, setOwned, startGeneration } from "../wire/gate.ts";

/** The module in one thread: the loaded library, and the calls that initialize and finalize it for the process. */
export class LoadedModule {
  #file: ModuleFile | undefined;
  #binding: Binding | undefined;

  get binding(): Binding {
    if (this.#binding === undefined) throw new ModuleError("the module is not loaded");
    return this.#binding;
  }

  load(file: ModuleFile): void {
    if (this.#file?.module === file.module) return;
    this.#binding = loadModule(file.module);
    this.#file = file;
  }

  /** C_Initialize. False if other code has already done it. */
  initialize(): boolean {
    const parameters = this.#file?.libraryParameters;
    // pkcs11js drops the last character of the parameters.
    const args = parameters === undefined ? {} : { libraryParameters: `${parameters} ` };
    // Without this flag a module may assume a single thread, and several sessions crash it.
    const code = codeFrom(() => this.binding.C_Initialize({ flags: CKF_OS_LOCKING_OK, ...args }));
    if (code !== undefined && code !== CKR_CRYPTOKI_ALREADY_INITIALIZED) throw new CryptokiError("C_Initialize", code);
    return code === undefined;
  }

  finalize(): void {
    cryptoki("C_Finalize", () => this.binding.C_Finalize());
  }

  /** The command `renew`, with no other thread inside. */
  renew(gate: Gate, finalize: boolean, expected: number): CommandOutput<"renew"> {
    if (generation(gate) !== expected) return { initialized: true, finalized: true };
    const code = finalize ? codeFrom(() => this.binding.C_Finalize()) : CKR_CRYPTOKI_NOT_INITIALIZED;
    const finalized = code === undefined || code === CKR_CRYPTOKI_NOT_INITIALIZED;
    if (finalized) startGeneration(gate);
    // This throws when the module cannot be initialized now. No other code owns it then, so its owner is unchanged.
    const initialized = this.initialize();
    if (initialized || (finalize && finalized)) setOwned(gate, initialized);
    // The module was finalized after all, despite the code.
    if (initialized && !finalized) startGeneration(gate);
    return { initialized, finalized };
  }

  /** A second load of the same library tells them apart: it is initialized along with the first, or it is not. */
  instance(): ModuleInstance {
    if (this.#file === undefined) return "shared";
    return !isInitialized(loadModule(this.#file.module)) && isInitialized(this.binding) ? "own" : "shared";
  }
}

function isInitialized(binding: Binding): boolean {
  return codeFrom(() => binding.C_GetInfo()) !== CKR_CRYPTOKI_NOT_INITIALIZED;
}
