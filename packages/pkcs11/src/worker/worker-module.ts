import type { Binding, Handle } from "../cryptoki/binding.ts";
import { CryptokiError } from "../cryptoki/call.ts";
import { CKR_TOKEN_NOT_PRESENT } from "../cryptoki/constants.ts";
import type { TokenList, UnreadableSlot } from "../cryptoki/descriptions.ts";
import type { CommandInput, CommandOutput, ModuleFile } from "../wire/commands.ts";
import { alone, createGate, type Gate, generation } from "../wire/gate.ts";
import { BusyError } from "./failure.ts";
import { LoadedModule } from "./loaded-module.ts";
import { listTokens } from "./token-list.ts";

/** How long C_Finalize waits for other threads to leave the module. Milliseconds. */
const FINALIZE_WAIT_MS = 1_000;

/** The module commands of one thread: its library, the gate in front of it, and the last list of slots. */
export class WorkerModule {
  readonly #library = new LoadedModule();
  /** C_Initialize returned CKR_OK to this thread. */
  #initialized = false;
  #slots: ReadonlyMap<string, Handle> = new Map();
  #unreadable: readonly UnreadableSlot[] = [];
  // Until the module is initialized, no other thread can be inside it with us.
  #gate: Gate = createGate();
  /** The library here is this thread's alone, and so is the gate. */
  #isOwn = false;

  get binding(): Binding {
    return this.#library.binding;
  }

  get gate(): Gate {
    return this.#gate;
  }

  /** The generation of the gate that the threads share. */
  get generation(): number | undefined {
    return this.#isOwn ? undefined : generation(this.#gate);
  }

  load(file: ModuleFile): void {
    this.#library.load(file);
  }

  attach(): CommandOutput<"attach"> {
    this.#initialized = this.#library.initialize();
    return { initialized: this.#initialized, instance: this.#library.instance() };
  }

  undoAttach(): void {
    if (this.#initialized) this.#library.finalize();
  }

  useGate(gate: Gate): void {
    this.#gate = gate;
  }

  renew({ finalize, generation }: CommandInput<"renew">): CommandOutput<"renew"> {
    let output: CommandOutput<"renew"> | undefined;
    this.#slots = new Map();
    const calls = (): void => {
      output = this.#library.renew(this.#gate, finalize, generation);
    };
    if (!alone(this.#gate, FINALIZE_WAIT_MS, calls)) {
      if (finalize) throw new BusyError("other threads are inside the module");
      // Any thread inside was there when other code finalized the module, and may never return.
      calls();
    }
    return output ?? { initialized: false, finalized: false };
  }

  initialize({ gate, instance, ...file }: CommandInput<"initialize">): CommandOutput<"initialize"> {
    const owner = instance === "own";
    this.#library.load(file);
    this.#isOwn = owner;
    // No other thread is inside this thread's own instance.
    this.#gate = owner ? createGate() : gate;
    if (owner) this.#library.initialize();
    return { owner };
  }

  /** Forgets the slots. Calls C_Finalize if `whole` is set. */
  finalize(whole: boolean): void {
    this.#slots = new Map();
    if (whole && !alone(this.#gate, FINALIZE_WAIT_MS, () => this.#library.finalize())) {
      throw new BusyError("other threads are inside the module");
    }
  }

  tokens(): TokenList {
    const { list, slots } = listTokens(this.binding);
    this.#slots = slots;
    this.#unreadable = list.unreadable;
    return list;
  }

  slot(slotId: string): Handle {
    if (!this.#slots.has(slotId)) this.tokens();
    const slot = this.#slots.get(slotId);
    if (slot !== undefined) return slot;
    const code = this.#unreadable.find((unreadable) => unreadable.slotId === slotId)?.code;
    throw new CryptokiError("C_GetTokenInfo", code ?? CKR_TOKEN_NOT_PRESENT);
  }
}
