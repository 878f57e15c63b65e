import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import type { CommandInput, ModuleFile, ModuleInstance, RunCommand } from "../wire/commands.ts";
import {
  addUser,
  claimRenewal,
  createGate,
  type Gate,
  generation,
  isInitializedWith,
  isOwned,
  isSameGate,
  removeUser,
  setOwned,
  sinceRenewal,
  userCount,
} from "../wire/gate.ts";
import { SETUP_HANG_MS } from "../wire/hang-limits.ts";
import { otherParametersError } from "../wire/other-parameters.ts";
import type { AskForGate, GateAnswer } from "./gate-exchange.ts";

/** How long to wait for another thread of ours that has a module open. Milliseconds. */
const ANSWER_MS = 1_000;
/** After no answer, one more check for a thread that has started meanwhile. Milliseconds. */
const LAST_LOOK_MS = 100;
/** How often to ask a thread again that is opening or closing the module. Milliseconds. */
const PENDING_MS = 20;

/**
 * | state | what others are told |
 * |---|---|
 * | `opening` | to wait, if they began later |
 * | `attached` | the gate, if there is something to share |
 * | `finalizing` | to wait |
 * | `left` | nothing |
 */
type State = "opening" | "attached" | "finalizing" | "left";

/**
 * This thread's part in a module: the gate that it shares with the other threads of the process, and whether the module is
 * theirs to finalize. It is if C_Initialize returned CKR_OK to one of them.
 */
export class Attachment {
  readonly #file: ModuleFile;
  readonly #run: RunCommand;
  readonly #ask: AskForGate;
  readonly #opening: number = randomInt(2 ** 47);
  #state: State = "opening";
  #gate: Gate;
  #instance: ModuleInstance = "shared";

  /** `run`: a command for the control thread. `ask`: asks the other threads of the process. */
  constructor(file: ModuleFile, run: RunCommand, ask: AskForGate) {
    this.#file = file;
    this.#gate = createGate(file.libraryParameters);
    this.#run = run;
    this.#ask = ask;
  }

  get owned(): boolean {
    return isOwned(this.#gate);
  }

  /** Threads with signers on the module. */
  get users(): number {
    return userCount(this.#gate);
  }

  get generation(): number {
    return generation(this.#gate);
  }

  /** Milliseconds since any thread of ours last initialized the module again. */
  get sinceRenewal(): number {
    return sinceRenewal(this.#gate);
  }

  /** Claims the next fresh start for this thread, at most one in `intervalMs` across all threads. */
  claimRenewal(intervalMs: number): boolean {
    return claimRenewal(this.#gate, intervalMs);
  }

  /** For the threads other than the control thread. Undefined before there is anything to share. */
  get initializeInput(): CommandInput<"initialize"> | undefined {
    if (this.#state !== "attached") return undefined;
    return { ...this.#file, gate: this.#gate, instance: this.#instance };
  }

  /**
   * Joins the threads that have the module open, or initializes it. @throws SignerError `unavailable`, `timeout`;
   * ConfigurationError if they have initialized it with other parameters
   *
   * Modules do not protect C_Initialize from a concurrent C_Finalize, so other threads are asked first. They answer before they
   * load the module, so no two threads wait for each other. A thread too busy to answer is found after C_Initialize.
   */
  async attach(): Promise<void> {
    const deadline = performance.now() + SETUP_HANG_MS;
    const loaded = this.#run("load", this.#file);
    let answer = await this.#ask(this.#opening, loaded);
    // Three times none of our threads answered, so other code has initialized the module.
    for (let unanswered = 0; unanswered < 3;) {
      if (answer === undefined) {
        await loaded;
        if (await this.#initialize()) break;
        unanswered += 1;
      } else {
        if (answer !== "pending" && this.#isWithOthers(answer)) throw otherParametersError();
        if (answer !== "pending" && this.#join(answer)) break;
        if (performance.now() > deadline) throw new SignerError("unavailable", BUSY);
        await delay(PENDING_MS);
        unanswered = 0;
      }
      answer = await this.#ask(this.#opening, unanswered === 1 ? ANSWER_MS : LAST_LOOK_MS);
    }
    await loaded;
    await this.#run("useGate", { gate: this.#gate });
    this.#state = "attached";
  }

  /**
   * C_Finalize, if `finalize` is set, and C_Initialize, unless that was done since the `generation`. True if the module is
   * initialized again, whichever code did it.
   */
  async renew(finalize: boolean, generationBefore: number): Promise<boolean> {
    const { initialized, finalized } = await this.#run("renew", { finalize, generation: generationBefore });
    if (initialized || !finalized) return initialized;
    // Other code was faster that does not share the gate: threads of ours that joined later, or code that is not ours.
    const answer = await this.#ask(this.#opening, ANSWER_MS);
    if (answer === undefined || answer === "pending" || isSameGate(answer, this.#gate)) setOwned(this.#gate, false);
    else await this.#move(answer);
    return true;
  }

  /** This thread has no more signers on the module. True if we are left to finalize it. */
  leave(): boolean {
    if (this.#state === "finalizing" || this.#state === "left") return false;
    const finalize = removeUser(this.#gate) && this.owned;
    this.#state = finalize ? "finalizing" : "left";
    return finalize;
  }

  /** For a thread that asks with the number `opening`. */
  answer(opening: number): GateAnswer | undefined {
    switch (this.#state) {
      case "opening":
        // One of the two goes on, and the other then finds it.
        return this.#opening < opening ? "pending" : undefined;
      case "attached":
        return this.#instance === "shared" ? this.#gate : undefined;
      case "finalizing":
        return "pending";
      case "left":
        return undefined;
    }
  }

  async #initialize(): Promise<boolean> {
    const { initialized, instance } = await this.#run("attach", null);
    this.#instance = instance;
    setOwned(this.#gate, initialized);
    return initialized;
  }

  #isWithOthers(gate: Gate): boolean {
    return !isInitializedWith(gate, this.#file.libraryParameters);
  }

  #join(gate: Gate): boolean {
    if (this.#isWithOthers(gate) || !addUser(gate)) return false;
    this.#gate = gate;
    return true;
  }

  async #move(gate: Gate): Promise<void> {
    const before = this.#gate;
    if (!this.#join(gate)) return setOwned(before, false);
    removeUser(before);
    await this.#run("useGate", { gate });
  }
}

const BUSY = "other threads of this process are opening or closing the module and have not finished";
