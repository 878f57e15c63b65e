import type { TokenDescription, TokenList } from "../cryptoki/descriptions.ts";
import type { AskForGate } from "../sharing/gate-exchange.ts";
import type { ModuleFile } from "../wire/commands.ts";
import { EXIT_WAIT_MS } from "./limits.ts";
import type { LoginPins } from "./login-pins.ts";
import { ModuleLife } from "./module-life.ts";
import { TokenPool } from "./pool.ts";

interface PoolEntry {
  readonly pool: TokenPool;
  users: number;
  closing: Promise<void> | undefined;
}

/** One module in this thread, with a pool of sessions for each token in use. */
export class ThreadModule {
  readonly life: ModuleLife;
  readonly #pools: Set<PoolEntry> = new Set();

  /** `ask` finds the other threads of the process that use the module. */
  constructor(file: ModuleFile, ask: AskForGate) {
    this.life = new ModuleLife(file, ask);
  }

  tokens(): Promise<TokenList> {
    return this.life.tokens();
  }

  /** The pool of a token, with one more user. `pins`: for its logins, the same for every user. */
  async retainPool(token: TokenDescription, pins: LoginPins): Promise<TokenPool> {
    const { freshStarts } = this.life;
    await freshStarts.settled();
    for (;;) {
      // Uses the token as the pool knows it now: a fresh start may have found it in another slot.
      const entry = [...this.#pools].find(({ pool }) => isSameToken(pool.sessions.token, token));
      if (entry === undefined) break;
      if (entry.closing === undefined) {
        entry.users += 1;
        return entry.pool;
      }
      await entry.closing;
    }
    const pool = new TokenPool(token, this.life, pins);
    this.#pools.add({ pool, users: 1, closing: undefined });
    freshStarts.members.add(pool);
    return pool;
  }

  /** Removes a user. The last one closes the sessions. */
  async releasePool(pool: TokenPool): Promise<void> {
    const entry = [...this.#pools].find((candidate) => candidate.pool === pool);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    const { freshStarts } = this.life;
    // Not during a fresh start, which handles the pool's sessions itself.
    entry.closing = freshStarts.settled().then(() => pool.close());
    await entry.closing;
    this.#pools.delete(entry);
    freshStarts.members.delete(pool);
  }

  /**
   * At the exit of the process. Blocks. A session cannot close in time if its thread is still starting or inside a call.
   * Those are left to C_Finalize, which waits for such calls too.
   */
  shutDown(): void {
    const sessions = [...this.#pools].flatMap(({ pool }) => [...pool.sessions.all]);
    for (const { thread, ownsInstance } of sessions) thread.shutDown(ownsInstance);
    const deadline = performance.now() + EXIT_WAIT_MS / 2;
    for (const { thread } of sessions) thread.waitForShutDown(Math.max(0, deadline - performance.now()));
    this.life.shutDown(EXIT_WAIT_MS / 2);
  }
}

function isSameToken(a: TokenDescription, b: TokenDescription): boolean {
  return a.label === b.label && a.serial === b.serial && a.slotId === b.slotId;
}
