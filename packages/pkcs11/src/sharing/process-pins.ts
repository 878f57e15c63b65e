import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import type { TokenName } from "../wire/token-name.ts";
import { createPinExchange, type GivenElsewhere, type PinExchange } from "./pin-exchange.ts";
import { PinMemory, type SharedPins } from "./pin-memory.ts";

/** Threads that know of PINs say so within this time. It passes while the module is being loaded. Milliseconds. */
const MEET_MS = 100;
/** The same, when it is certain that there is another thread. */
const EXPECTED_MEET_MS = 1_000;
/** A login of another thread is waited for. It is over, or given up on, before. Milliseconds. */
const LOCK_WAIT_MS = 20_000;
/** How often it is looked whether the login of another thread is over. Milliseconds. */
const LOCK_POLL_MS = 2;
/** More memories than this are not kept: each was made by a thread, and most threads have ended. */
const MAX_MEMORIES = 32;
/** A token that locks does so after three wrong PINs, or more. */
const MAX_REFUSALS = 2;

/** Why a PIN is not sent to a token. */
export type PinProblem = "refused before" | "too many refused" | "answers lost";

/** A source of this thread whose PIN a token accepted. */
export interface AcceptedSource {
  readonly token: TokenName;
  /** How to ask it now. Undefined while there is none. */
  reader(): (() => Promise<string>) | undefined;
}

/**
 * What all threads of this process know of the PINs that tokens refused or accepted. Each thread has a memory, and shares it:
 * a PIN is looked for in all of them, and a refusal is written in the oldest.
 */
export class ProcessPins {
  readonly #own = new PinMemory();
  readonly #exchange: PinExchange;
  readonly #sources: Set<AcceptedSource> = new Set();
  /** The oldest first. */
  #memories: readonly PinMemory[] = [this.#own];
  #met: () => void = () => {};
  readonly #firstMet: Promise<void> = new Promise((resolve) => (this.#met = resolve));
  #ready: Promise<unknown>;

  constructor() {
    this.#exchange = createPinExchange(this.#own, {
      met: (memories) => this.#meet(memories),
      known: () => this.#memories.map(({ shared }) => shared),
      isGiven: (order, tag) => {
        const memory = this.#memories.find((candidate) => candidate.order === order);
        return memory === undefined ? undefined : (this.#isGivenHere(memory, tag) ?? "no source");
      },
    });
    this.#ready = delay(MEET_MS);
    // The others may drop it, unless there is something in it.
    process.on("exit", () => this.#own.end());
  }

  /** There is another thread that has to do with a module: what it knows is waited for. */
  expectOthers(): void {
    const met = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, EXPECTED_MEET_MS);
      void this.#firstMet.then(() => (clearTimeout(timer), resolve()));
    });
    this.#ready = Promise.all([this.#ready, met]);
  }

  /** Counts how often everything was forgotten, in whichever thread. */
  get forgotten(): number {
    return this.#memories.reduce((sum, memory) => sum + memory.forgotten, 0);
  }

  /** Takes the turn of a token among the logins of all threads. Returns how to give it back. */
  async lock(token: TokenName): Promise<() => void> {
    await this.#ready;
    const deadline = performance.now() + LOCK_WAIT_MS;
    for (;;) {
      // What others have said until now is read before.
      await turn();
      const locked = lockAll(this.#memories, token);
      if (locked !== undefined) return locked;
      if (performance.now() > deadline) throw new SignerError("unavailable", "a login of another thread does not end");
      await delay(LOCK_POLL_MS);
    }
  }

  /** Why this PIN must not be sent to the token. */
  problem(token: TokenName, pin: string): PinProblem | undefined {
    if (this.#memories.some((memory) => memory.isRefused(token, pin))) return "refused before";
    const refusals = this.#memories.reduce((sum, memory) => sum + memory.refusals(token), 0);
    if (refusals >= MAX_REFUSALS) return "too many refused";
    // What was lost may have been refused.
    const losses = this.#memories.reduce((sum, memory) => sum + memory.losses(token), 0);
    return refusals + losses >= MAX_REFUSALS ? "answers lost" : undefined;
  }

  /** The token has refused it: CKR_PIN_INCORRECT. */
  refuse(token: TokenName, pin: string): void {
    for (const memory of this.#memories) memory.disprove(token, pin);
    this.#memories[0]?.refuse(token, pin);
  }

  /**
   * It is about to be sent. Until it is known what became of it, its answer counts as lost: the thread may end before that, and the
   * others then know. It may be sent once more. Returns how to take that back, where the token has said nothing of the PIN. Of the
   * PIN that the token accepted last nothing is noted: an HSM that hangs for a while must not keep its right PIN away for good.
   */
  send(token: TokenName, pin: string): () => void {
    const [memory] = this.#memories;
    if (memory === undefined || this.isAccepted(token, pin) === true) return () => {};
    memory.lose(token, pin);
    return () => memory.regain(token, pin);
  }

  /** The token has accepted it: what it refused before counts no more, though it is not sent again. */
  accept(token: TokenName, pin: string): void {
    for (const memory of this.#memories) if (memory === this.#memories[0] || !memory.isEmpty) memory.accept(token, pin);
  }

  /** Whether it is the PIN that the token accepted last from this process. Undefined when none is known. */
  isAccepted(token: TokenName, pin: string): boolean | undefined {
    const answers = this.#memories.map((memory) => memory.isAccepted(token, pin));
    if (answers.includes(true)) return true;
    return answers.includes(false) ? false : undefined;
  }

  /** Whether both are one PIN. Takes as long for any two. */
  isSame(token: TokenName, pin: string, other: string): boolean {
    return this.#own.isTagOf(token, this.#own.tag(token, pin), other);
  }

  /** From now on other threads may ask whether the source gives another PIN by now. Returns how to end that. */
  addSource(source: AcceptedSource): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  /** Whether the source of another login gives this PIN now, in whichever thread. */
  isGivenElsewhere(token: TokenName, pin: string): Promise<GivenElsewhere> {
    return this.#ask("PIN", token, pin);
  }

  /** Whether another login has a source for this token, in whichever thread. It is not asked: it may fail, or take long. */
  hasSourceElsewhere(token: TokenName, pin: string): Promise<GivenElsewhere> {
    return this.#ask("source", token, pin);
  }

  /** Forgets what tokens refused, for all threads. */
  async forgetRefusals(): Promise<void> {
    await this.#ready;
    await turn();
    for (const memory of this.#memories) memory.forgetRefusals();
  }

  async #ask(what: "source" | "PIN", token: TokenName, pin: string): Promise<GivenElsewhere> {
    await this.#ready;
    const [memory = this.#own] = this.#memories;
    const tag = memory.tag(token, pin);
    const isGiven = this.#isGivenHere(memory, tag);
    if (isGiven !== undefined) return what === "source" || isGiven();
    const others = this.#memories.filter((other) => other !== this.#own && !other.ended);
    return this.#exchange.ask(
      what,
      memory.order,
      tag,
      others.map((other) => other.order),
    );
  }

  #meet(shared: readonly SharedPins[]): void {
    const known = new Map(this.#memories.map((memory) => [memory.order, memory]));
    const before = known.size;
    for (const memory of shared.map((buffer) => new PinMemory(buffer))) {
      if (!known.has(memory.order)) known.set(memory.order, memory);
    }
    this.#met();
    if (known.size === before) return;
    const useful = [...known.values()].filter((memory) => memory === this.#own || !memory.ended || !memory.isEmpty);
    const ended = useful.filter((memory) => memory.ended).slice(MAX_MEMORIES / 2);
    const kept = useful.filter((memory) => !ended.includes(memory));
    this.#memories = kept.toSorted((a, b) => (a.order < b.order ? -1 : 1)).slice(0, MAX_MEMORIES);
  }

  /** How to ask whether a source of this thread gives the PIN of a tag. Undefined where none has to do with its token. */
  #isGivenHere(memory: PinMemory, tag: Uint8Array): (() => Promise<boolean>) | undefined {
    for (const source of this.#sources) {
      if (!memory.isTagOf(source.token, tag)) continue;
      const read = source.reader();
      if (read !== undefined) return async () => memory.isTagOf(source.token, tag, await read());
    }
    return undefined;
  }
}

/** The turn in every memory: two threads have one in common as soon as either knows of the other. */
function lockAll(memories: readonly PinMemory[], token: TokenName): (() => void) | undefined {
  const locked: (() => void)[] = [];
  const unlock = (): void => {
    for (const give of locked.splice(0)) give();
  };
  for (const memory of memories) {
    const give = memory.tryLock(token);
    if (give === undefined) {
      unlock();
      return undefined;
    }
    locked.push(give);
  }
  return unlock;
}

let pins: ProcessPins | undefined;

/** What this process knows of PINs, as this thread sees it. From the first use until the thread ends. */
export function processPins(): ProcessPins {
  return (pins ??= new ProcessPins());
}
