import type { CommandInput, CommandName, CommandOutput } from "../wire/commands.ts";
import { SETUP_HANG_MS } from "../wire/hang-limits.ts";
import { LOST_CONTROLS } from "./limits.ts";
import { Thread } from "./thread.ts";

/** The control thread's messages to the module's owner, and its questions. */
export interface ControlEvents {
  /** A call is hanging inside the module; `returned` resolves once it has returned. */
  hanging(returned: Promise<void>): void;
  /** The data for a thread that replaces a hung one. Undefined when there is nothing to continue with yet. */
  replacement(): CommandInput<"initialize"> | undefined;
}

/** The thread that initializes a module, lists its tokens and finalizes it. Replaced by another one when it hangs. */
export class ControlThread {
  readonly #events: ControlEvents;
  #thread = new Thread();
  #lost = 0;

  constructor(events: ControlEvents) {
    this.#events = events;
  }

  /** One command. Rejects with `timeout` if it has not returned within `hangMs`. */
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

  /** Ends the thread. Do not await it while one of its calls hangs. */
  terminate(): Promise<void> {
    return this.#thread.terminate();
  }

  /** At the exit of the process. Blocks until the module is finalized, if `finalize` is set. */
  shutDown(finalize: boolean, timeoutMs: number): void {
    this.#thread.shutDown(finalize);
    this.#thread.waitForShutDown(timeoutMs);
  }

  #replace(hung: Thread, returned: Promise<void>): void {
    const input = this.#events.replacement();
    if (input === undefined || hung !== this.#thread || this.#lost >= LOST_CONTROLS) return;
    this.#lost += 1;
    this.#thread = new Thread();
    // The next command reports an error here: it finds the module not loaded.
    this.run("initialize", input).catch(() => {});
    void returned.then(async () => {
      this.#lost -= 1;
      await hung.run("finalize", { module: input.instance === "own" }).catch(() => {});
      await hung.terminate();
    });
  }
}
