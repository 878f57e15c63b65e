import type { CommandInput, CommandName, CommandOutput } from "../wire/commands.ts";
import { SETUP_HANG_MS } from "../wire/hang-limits.ts";
import { LOST_CONTROLS } from "./limits.ts";
import { Thread } from "./thread.ts";

/** What the control thread tells the module, and asks of it. */
export interface ControlEvents {
  /** A call hangs inside the module; `returned` resolves once it has come back. */
  hanging(returned: Promise<void>): void;
  /** What a thread that takes the place of a hung one has to know. Undefined: nothing is there yet to go on with. */
  replacement(): CommandInput<"initialize"> | undefined;
}

/** The thread that initializes a module, lists its tokens and finalizes it. Another one takes its place when it hangs. */
export class ControlThread {
  readonly #events: ControlEvents;
  #thread = new Thread();
  #lost = 0;

  constructor(events: ControlEvents) {
    this.#events = events;
  }

  /** One command. `timeout` when it has not come back within `hangMs`. */
  run<Name extends CommandName>(
    name: Name,
    input: CommandInput<Name>,
    hangMs: number = SETUP_HANG_MS,
  ): Promise<CommandOutput<Name>> {
    const thread = this.#thread;
    return thread.runWatched(name, input, hangMs, (returned) => {
      this.#events.hanging(returned);
      this.#replace(thread, returned);
    });
  }

  /** Ends the thread. Not to be awaited while a call of it hangs. */
  terminate(): Promise<void> {
    return this.#thread.terminate();
  }

  /** At the exit of the process. Blocks until the module is finalized, where `finalize` says so. */
  shutDown(finalize: boolean, timeoutMs: number): void {
    this.#thread.shutDown(finalize);
    this.#thread.waitForShutDown(timeoutMs);
  }

  #replace(hung: Thread, returned: Promise<void>): void {
    const input = this.#events.replacement();
    if (input === undefined || hung !== this.#thread || this.#lost >= LOST_CONTROLS) return;
    this.#lost += 1;
    this.#thread = new Thread();
    // An error is told to the next command, which finds the module not loaded.
    this.run("initialize", input).catch(() => {});
    void returned.then(async () => {
      this.#lost -= 1;
      await hung.run("finalize", { module: input.instance === "own" }).catch(() => {});
      await hung.terminate();
    });
  }
}
