import { isNotInitialized } from "../failure-error.ts";
import { addUser, createGate, type Gate, isOwned, removeUser, setOwned, userCount } from "../gate.ts";
import type { CommandInput, CommandName, CommandOutput, TokenDescription, TokenList } from "../protocol.ts";
import {
  EXIT_WAIT_MS,
  INITIALIZE_INTERVAL_MS,
  LOOK_AGAIN_MS,
  REINITIALIZE_INTERVAL_MS,
  SETUP_HANG_MS,
} from "./limits.ts";
import type { ModuleHost } from "./module-host.ts";
import { TokenPool } from "./pool.ts";

import { Thread } from "./thread.ts";

interface PoolEntry {
  readonly pool: TokenPool;
  users: number;
  closing: Promise<void> | undefined;
}

/**
 * One module in this process: a thread of its own initialises it, lists its tokens and, when we own it,
 * finalises it. We own it when C_Initialize answered CKR_OK to us. Never C_Logout and never
 * C_CloseAllSessions: both would reach into what others in the process do.
 */
export class ThreadModule {
  readonly #path: string;
  readonly #libraryParameters: string | undefined;
  readonly #askForGate: (module: string) => Promise<Gate | undefined>;
  readonly #control = new Thread();
  readonly #pools: Map<string, PoolEntry> = new Map();
  #gate = createGate();
  #hanging = 0;
  readonly #onReturned: (() => void)[] = [];
  #reinitializing: Promise<boolean> | undefined;
  #lastFinalize = Number.NEGATIVE_INFINITY;
  #started = 0;
  #lastInitialize = Number.NEGATIVE_INFINITY;

  /** `askForGate` finds the other threads of the process that use the module. */
  constructor(
    path: string,
    libraryParameters: string | undefined,
    askForGate: (module: string) => Promise<Gate | undefined>,
  ) {
    this.#path = path;
    this.#libraryParameters = libraryParameters;
    this.#askForGate = askForGate;
  }

  /** Shared with the other threads of the process that use the module. */
  get gate(): Gate {
    return this.#gate;
  }

  get owner(): boolean {
    return isOwned(this.#gate);
  }

  get hanging(): number {
    return this.#hanging;
  }

  async start(): Promise<void> {
    try {
      await this.#initialize(false);
      addUser(this.#gate);
      this.#started = performance.now();
    } catch (error) {
      if (this.#hanging === 0) await this.#control.terminate();
      throw error;
    }
  }

  tokens(): Promise<TokenList> {
    return this.#run("tokens", null);
  }

  /** The pool of a token, with one more user. */
  async retainPool(token: TokenDescription): Promise<TokenPool> {
    await this.settled();
    const name = poolName(token);
    for (;;) {
      const entry = this.#pools.get(name);
      if (entry === undefined) break;
      if (entry.closing === undefined) {
        entry.users += 1;
        return entry.pool;
      }
      await entry.closing;
    }
    const pool = new TokenPool(token, this.#host());
    this.#pools.set(name, { pool, users: 1, closing: undefined });
    return pool;
  }

  /** Takes the user back. The last one closes the sessions. */
  async releasePool(pool: TokenPool): Promise<void> {
    const name = [...this.#pools].find(([, entry]) => entry.pool === pool)?.[0];
    const entry = name === undefined ? undefined : this.#pools.get(name);
    if (name === undefined || entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    // Not in the middle of a fresh start, which handles the pool's sessions itself.
    entry.closing = this.settled().then(() => pool.close());
    await entry.closing;
    this.#pools.delete(name);
  }

  /** Resolves once no call hangs inside the module. */
  async returned(): Promise<void> {
    while (this.#hanging > 0) await new Promise<void>((resolve) => this.#onReturned.push(resolve));
  }

  /** Finalises the module when it is ours and no call is inside it; else once the last one has come back. */
  async stop(): Promise<void> {
    await this.settled();
    await this.returned();
    const last = removeUser(this.#gate);
    await this.#run("finalize", { module: last && this.owner }).catch(() => {});
    if (last) setOwned(this.#gate, false);
    await this.#control.terminate();
  }

  /**
   * C_Finalize and C_Initialize, then every session of every pool anew. Single flight. Only when we own the
   * module, no call hangs inside it, and the last time is long enough ago. A module that somebody else
   * finalised is only initialised: that is for anybody to do.
   */
  reinitialize(cause: unknown): Promise<boolean> {
    if (this.#reinitializing !== undefined) return this.#reinitializing;
    const finalized = isNotInitialized(cause);
    if (!this.#mayReinitialize(finalized)) return Promise.resolve(false);
    this.#reinitializing = this.#reinitialize(finalized).finally(() => (this.#reinitializing = undefined));
    return this.#reinitializing;
  }

  /** Resolves once no fresh start is under way. */
  async settled(): Promise<void> {
    await this.#reinitializing;
  }

  /** Initialises the module anew for somebody who misses a token. Pointless when that was done a moment ago. */
  async lookAgain(): Promise<boolean> {
    if (performance.now() - Math.max(this.#started, this.#lastInitialize) < LOOK_AGAIN_MS) return false;
    return this.reinitialize(undefined);
  }

  /** Milliseconds from now. */
  reinitializeInMs(): number {
    return Math.max(0, this.#lastFinalize + REINITIALIZE_INTERVAL_MS - performance.now());
  }

  /**
   * At the exit of the process. Blocks. Sessions that do not close in time, because their thread is only starting or is
   * inside a call, are left to C_Finalize, which waits for such calls too.
   */
  shutDown(): void {
    const sessions = [...this.#pools.values()].flatMap(({ pool }) => [...pool.sessions.all]);
    for (const { thread, ownsInstance } of sessions) thread.shutDown(ownsInstance);
    const deadline = performance.now() + EXIT_WAIT_MS / 2;
    for (const { thread } of sessions) thread.waitForShutDown(Math.max(0, deadline - performance.now()));
    const last = removeUser(this.#gate);
    this.#control.shutDown(last && this.owner && this.#hanging === 0);
    this.#control.waitForShutDown(EXIT_WAIT_MS / 2);
  }

  #mayReinitialize(finalized: boolean): boolean {
    const now = performance.now();
    if (finalized) return now - this.#lastInitialize >= INITIALIZE_INTERVAL_MS;
    return this.owner && this.#hanging === 0 && now - this.#lastFinalize >= REINITIALIZE_INTERVAL_MS;
  }

  async #reinitialize(finalized: boolean): Promise<boolean> {
    this.#lastInitialize = performance.now();
    if (!finalized) this.#lastFinalize = this.#lastInitialize;
    const pools = [...this.#pools.values()].map(({ pool }) => pool);
    for (const { sessions } of pools) sessions.pause();
    await Promise.all(pools.map(({ sessions }) => sessions.drained()));
    // A call that turned out to hang meanwhile is still inside the module: finalising under it may crash.
    const list =
      this.#hanging > 0 && !finalized ? await this.#tokensOrNone() : await this.#initializeAnew(pools, finalized);
    const restored = await Promise.all(pools.map(({ sessions }) => sessions.restore(list)));
    return restored.every(Boolean);
  }

  async #initializeAnew(pools: readonly TokenPool[], finalized: boolean): Promise<TokenList> {
    await Promise.all(pools.map(({ sessions }) => sessions.release(finalized)));
    try {
      // An error means that somebody else was faster, or that the module is broken; C_Initialize will tell.
      const gone = await this.#run("finalize", { module: this.owner && !finalized }).then(
        () => true,
        () => false,
      );
      await this.#initialize(gone);
      for (const pool of pools) pool.freshStart();
    } catch {
      return NO_TOKENS;
    }
    return this.#tokensOrNone();
  }

  /** C_Initialize, and who owns the module now. `gone`: it was finalised, so nobody else should have it. */
  async #initialize(gone: boolean): Promise<void> {
    const { owner } = await this.#run("initialize", this.#initializeInput("control"));
    if (owner) return setOwned(this.#gate, true);
    // Other threads of ours may have been faster. Alone, we have lost it to other code.
    if (gone && userCount(this.#gate) === 1) setOwned(this.#gate, false);
    if (userCount(this.#gate) > 0) return;
    const gate = await this.#askForGate(this.#path);
    if (gate === undefined) return;
    this.#gate = gate;
    await this.#run("initialize", this.#initializeInput("control"));
  }

  #initializeInput(role: "control" | "session"): CommandInput<"initialize"> {
    return { module: this.#path, libraryParameters: this.#libraryParameters, gate: this.#gate, role };
  }

  #tokensOrNone(): Promise<TokenList> {
    return this.tokens().catch(() => NO_TOKENS);
  }

  /** One command of the control thread, watched like those of the sessions. */
  #run<Name extends CommandName>(name: Name, input: CommandInput<Name>): Promise<CommandOutput<Name>> {
    return this.#control.runWatched(name, input, SETUP_HANG_MS, (returned) => {
      this.#hangs(1);
      void returned.then(() => this.#hangs(-1));
    });
  }

  #hangs(difference: 1 | -1): void {
    this.#hanging += difference;
    if (this.#hanging > 0) return;
    for (const resolve of this.#onReturned.splice(0)) resolve();
  }

  #host(): ModuleHost {
    return {
      initializeInput: () => this.#initializeInput("session"),
      owner: () => this.owner,
      reinitialize: (cause) => this.reinitialize(cause),
      reinitializeInMs: () => this.reinitializeInMs(),
      settled: () => this.settled(),
      hanging: (difference) => this.#hangs(difference),
    };
  }
}

const NO_TOKENS: TokenList = { library: { manufacturer: "", description: "", version: "" }, tokens: [] };

function poolName({ label, serial, slotId }: TokenDescription): string {
  return JSON.stringify([label, serial, slotId]);
}
