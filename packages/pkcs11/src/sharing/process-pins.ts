import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import type { TokenName } from "../wire/token-name.ts";
import { createPinExchange, type GivenElsewhere, type PinExchange } from "./pin-exchange.ts";
import { PinMemory, type SharedPins } from "./pin-memory.ts";

/** How long to wait for threads that know about PINs. The module loads meanwhile. Milliseconds. */
const MEET_MS = 100;
/** The same, when another thread certainly exists. */
const EXPECTED_MEET_MS = 1_000;
/** How long to wait for another thread's login. It has ended, or was given up on, before that. Milliseconds. */
const LOCK_WAIT_MS = 20_000;
/** How often to check whether another thread's login has ended. Milliseconds. */
const LOCK_POLL_MS = 2;
/** The maximum number of memories. Each was made by a thread, and most threads have ended. */
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
 * What all threads of this process know about the PINs that tokens refused or accepted. Each thread has a memory, and
 * shares it. A PIN is looked up in all of them, and a refusal is written to the oldest.
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
    // The others may drop it, unless it contains something.
    process.on("exit", () => this.#own.end());
  }

  /** Another thread uses the module, so its knowledge is awaited. */
  expectOthers(): void {
    const met = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, EXPECTED_MEET_MS);
      void this.#firstMet.then(() => (clearTimeout(timer), resolve()));
    });
    this.#ready = Promise.all([this.#ready, met]);
  }

  /** Counts how often everything was forgotten, in any thread. */
  get forgotten(): number {
    return this.#memories.reduce((sum, memory) => sum + memory.forgotten, 0);
  }

  /** Takes a token's turn among the logins of all threads. Returns a function that gives it back. */
  async lock(token: TokenName): Promise<() => void> {
    await this.#ready;
    const deadline = performance.now() + LOCK_WAIT_MS;
    for (;;) {
      // Earlier messages of other threads are read first.
      await turn();
      const locked = lockAll(this.#memories, token);
      if (locked !== undefined) return locked;
      if (performance.now() > deadline) throw new SignerError("unavailable", "another thread's login does not end");
      await delay(LOCK_POLL_MS);
    }
  }

  /** Why this PIN must not be sent to the token. */
  problem(token: TokenName, pin: string): PinProblem | undefined {
    if (this.#memories.some((memory) => memory.isRefused(token, pin))) return "refused before";
    const refusals = this.#memories.reduce((sum, memory) => sum + memory.refusals(token), 0);
    if (refusals >= MAX_REFUSALS) return "too many refused";
    // A PIN whose answer was lost may have been refused.
    const losses = this.#memories.reduce((sum, memory) => sum + memory.losses(token), 0);
    return refusals + losses >= MAX_REFUSALS ? "answers lost" : undefined;
  }

  /** The token refused it: CKR_PIN_INCORRECT. */
  refuse(token: TokenName, pin: string): void {
    for (const memory of this.#memories) memory.disprove(token, pin);
    this.#memories[0]?.refuse(token, pin);
  }

  /**
   * The PIN is about to be sent. Until its outcome is known, its answer counts as lost: if the thread ends before that, the
   * others know. It may be sent once more. Returns a function that undoes this, for a token that said nothing about the
   * PIN. The PIN that the token last accepted is not noted: an HSM that hangs for a while must not block its right PIN
   * permanently.
   */
  send(token: TokenName, pin: string): () => void {
    const [memory] = this.#memories;
    if (memory === undefined || this.isAccepted(token, pin) === true) return () => {};
    memory.lose(token, pin);
    return () => memory.regain(token, pin);
  }

  /** The token accepted it. Its earlier refusals no longer count, but the refused PINs are still not sent again. */
  accept(token: TokenName, pin: string): void {
    for (const memory of this.#memories) if (memory === this.#memories[0] || !memory.isEmpty) memory.accept(token, pin);
  }

  /** Whether it is the PIN that the token last accepted from this process. Undefined when none is known. */
  isAccepted(token: TokenName, pin: string): boolean | undefined {
    const answers = this.#memories.map((memory) => memory.isAccepted(token, pin));
    if (answers.includes(true)) return true;
    return answers.includes(false) ? false : undefined;
  }

  /** Whether both are the same PIN. Takes the same time for any two. */
  isSame(token: TokenName, pin: string, other: string): boolean {
    return this.#own.isTagOf(token, this.#own.tag(token, pin), other);
  }

  /** From now on other threads may ask whether the source returns another PIN. Returns a function that ends this. */
  addSource(source: AcceptedSource): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  /** Whether the source of another login, in any thread, returns this PIN now. */
  isGivenElsewhere(token: TokenName, pin: string): Promise<GivenElsewhere> {
    return this.#ask("PIN", token, pin);
  }

  /** Whether another login, in any thread, has a source for this token. The source is not asked: it may fail, or take long. */
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

  /** How to ask whether a source of this thread returns the PIN of a tag. Undefined if none uses its token. */
  #isGivenHere(memory: PinMemory, tag: Uint8Array): (() => Promise<boolean>) | undefined {
    for (const source of this.#sources) {
      if (!memory.isTagOf(source.token, tag)) continue;
      const read = source.reader();
      if (read !== undefined) return async () => memory.isTagOf(source.token, tag, await read());
    }
    return undefined;
  }
}

/** The turn in every memory. Two threads share one as soon as either knows about the other. */
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

/** What this process knows about PINs, as this thread sees it. From the first use until the thread ends. */
export function processPins(): ProcessPins {
  return (pins ??= new ProcessPins());
}
