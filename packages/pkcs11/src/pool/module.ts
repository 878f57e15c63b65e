import { SignerError } from "@signpost/core";
import { isNotInitialized } from "../wire/command-error.ts";
import type { ModuleFile, TokenDescription, TokenList } from "../wire/commands.ts";
import { Attachment } from "../sharing/attachment.ts";
import { ControlThread } from "./control-thread.ts";
import type { AskForGate, GateAnswer } from "../sharing/gate-exchange.ts";
import {
  CLOSE_HANG_MS,
  EXIT_WAIT_MS,
  INITIALIZE_INTERVAL_MS,
  LOOK_AGAIN_MS,
  REINITIALIZE_INTERVAL_MS,
} from "./limits.ts";
import type { ModuleHost } from "./module-host.ts";
import { TokenPool } from "./pool.ts";

interface PoolEntry {
  readonly pool: TokenPool;
  users: number;
  closing: Promise<void> | undefined;
}

/**
 * One module in this thread of the process: its pools of sessions, and its fresh starts. Never C_Logout and never
 * C_CloseAllSessions: both would reach into what others in the process do.
 */
export class ThreadModule {
  readonly #control: ControlThread;
  readonly #attachment: Attachment;
  readonly #pools: Set<PoolEntry> = new Set();
  #hanging = 0;
  readonly #onHang: (() => void)[] = [];
  readonly #onReturned: (() => void)[] = [];
  #reinitializing: Promise<boolean> | undefined;
  #started = 0;
  #undone: Promise<void> | undefined;
  #lastInitialize = Number.NEGATIVE_INFINITY;

  /** `ask` finds the other threads of the process that use the module. */
  constructor(file: ModuleFile, ask: AskForGate) {
    this.#control = new ControlThread({
      hanging: (returned) => {
        this.#hangs(1);
        void returned.then(() => this.#hangs(-1));
      },
      replacement: () => this.#attachment.initializeInput,
    });
    this.#attachment = new Attachment(file, this.#control, ask);
  }

  get hanging(): number {
    return this.#hanging;
  }

  /** For another thread of the process, which opens the module with this number. */
  answer(opening: number): GateAnswer | undefined {
    return this.#attachment.answer(opening);
  }

  /** Rejects when the module cannot be had; a call that hangs is taken back once it has come back. */
  async start(): Promise<void> {
    try {
      await this.#attachment.attach();
      this.#started = performance.now();
    } catch (error) {
      this.#undone = this.#undoStart();
      throw error;
    }
  }

  /** Resolves once nothing is left of a start that failed. */
  async undone(): Promise<void> {
    await this.#undone;
  }

  tokens(): Promise<TokenList> {
    return this.#control.run("tokens", null);
  }

  /** The pool of a token, with one more user. */
  async retainPool(token: TokenDescription): Promise<TokenPool> {
    await this.settled();
    for (;;) {
      // By what the pool calls its token now: a fresh start may have found it in another slot.
      const entry = [...this.#pools].find(({ pool }) => isSameToken(pool.sessions.token, token));
      if (entry === undefined) break;
      if (entry.closing === undefined) {
        entry.users += 1;
        return entry.pool;
      }
      await entry.closing;
    }
    const pool = new TokenPool(token, this.#host());
    this.#pools.add({ pool, users: 1, closing: undefined });
    return pool;
  }

  /** Takes the user back. The last one closes the sessions. */
  async releasePool(pool: TokenPool): Promise<void> {
    const entry = [...this.#pools].find((candidate) => candidate.pool === pool);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    // Not in the middle of a fresh start, which handles the pool's sessions itself.
    entry.closing = this.settled().then(() => pool.close());
    await entry.closing;
    this.#pools.delete(entry);
  }

  /** Resolves once a call hangs inside the module. */
  async hung(): Promise<void> {
    if (this.#hanging === 0) await new Promise<void>((resolve) => this.#onHang.push(resolve));
  }

  /** Resolves once no call hangs inside the module. */
  async returned(): Promise<void> {
    while (this.#hanging > 0) await new Promise<void>((resolve) => this.#onReturned.push(resolve));
  }

  /** Finalises the module when it is ours and no call is inside it; else once the last one has come back. */
  async stop(): Promise<void> {
    await this.settled();
    await this.returned();
    await this.#control.run("finalize", { module: this.#attachment.leave() }, CLOSE_HANG_MS).catch(() => {});
    await this.returned();
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
    return Math.max(0, REINITIALIZE_INTERVAL_MS - this.#attachment.sinceRenewal);
  }

  /**
   * At the exit of the process. Blocks. Sessions that do not close in time, because their thread is only starting or is
   * inside a call, are left to C_Finalize, which waits for such calls too.
   */
  shutDown(): void {
    const sessions = [...this.#pools].flatMap(({ pool }) => [...pool.sessions.all]);
    for (const { thread, ownsInstance } of sessions) thread.shutDown(ownsInstance);
    const deadline = performance.now() + EXIT_WAIT_MS / 2;
    for (const { thread } of sessions) thread.waitForShutDown(Math.max(0, deadline - performance.now()));
    this.#control.shutDown(this.#attachment.leave() && this.#hanging === 0, EXIT_WAIT_MS / 2);
  }

  async #undoStart(): Promise<void> {
    await this.returned();
    this.#attachment.leave();
    await this.#control.run("undoAttach", null, CLOSE_HANG_MS).catch(() => {});
    await this.returned();
    await this.#control.terminate();
  }

  #mayReinitialize(finalized: boolean): boolean {
    if (finalized) return performance.now() - this.#lastInitialize >= INITIALIZE_INTERVAL_MS;
    return this.#attachment.owned && this.#hanging === 0 && this.#attachment.claimRenewal(REINITIALIZE_INTERVAL_MS);
  }

  async #reinitialize(finalized: boolean): Promise<boolean> {
    const { generation } = this.#attachment;
    this.#lastInitialize = performance.now();
    const pools = [...this.#pools].map(({ pool }) => pool);
    for (const { sessions } of pools) sessions.pause();
    await Promise.all(pools.map(({ sessions }) => sessions.drained()));
    await this.#renew(pools, finalized, generation);
    const list = await this.tokens().catch(() => NO_TOKENS);
    const restored = await Promise.all(pools.map(({ sessions }) => sessions.restore(list)));
    return restored.every(Boolean);
  }

  async #renew(pools: readonly TokenPool[], finalized: boolean, generation: number): Promise<void> {
    // A call that turned out to hang meanwhile is still inside the module: finalising under it may crash.
    if (this.#hanging > 0 && !finalized) return;
    await Promise.all(pools.map(({ sessions }) => sessions.release(finalized)));
    if (this.#hanging > 0 && !finalized) return;
    try {
      if (await this.#attachment.renew(!finalized, generation)) for (const pool of pools) pool.freshStart();
    } catch {
      // Told by the list of tokens, and by each session that does not come back.
    }
  }

  #hangs(difference: 1 | -1): void {
    this.#hanging += difference;
    const settled = this.#hanging > 0 ? this.#onHang : this.#onReturned;
    for (const resolve of settled.splice(0)) resolve();
  }

  #host(): ModuleHost {
    return {
      initializeInput: () => {
        const input = this.#attachment.initializeInput;
        if (input === undefined) throw new SignerError("closed", "the module is closed");
        return input;
      },
      owner: () => this.#attachment.owned,
      reinitialize: (cause) => this.reinitialize(cause),
      reinitializeInMs: () => this.reinitializeInMs(),
      settled: () => this.settled(),
      hanging: (difference) => this.#hangs(difference),
      hangingCalls: () => this.#hanging,
    };
  }
}

const NO_TOKENS: TokenList = { library: { manufacturer: "", description: "", version: "" }, tokens: [] };

function isSameToken(a: TokenDescription, b: TokenDescription): boolean {
  return a.label === b.label && a.serial === b.serial && a.slotId === b.slotId;
}
