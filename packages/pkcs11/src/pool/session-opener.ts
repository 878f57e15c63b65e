import type { TokenDescription } from "../cryptoki/descriptions.ts";
import { findAgain } from "../request/select-token.ts";
import type { TokenInSlot } from "../wire/commands.ts";
import type { TokenLogin } from "./login.ts";
import type { ModuleLife } from "./module-life.ts";
import type { SessionSet } from "./session-set.ts";
import type { PooledSession } from "./session.ts";

/** Opens sessions on one token, logged in. */
export class SessionOpener {
  /** The token, in the slot where it was seen last. */
  token: TokenDescription;
  readonly #module: ModuleLife;
  readonly #login: TokenLogin;
  readonly #set: SessionSet;

  constructor(token: TokenDescription, module: ModuleLife, login: TokenLogin, set: SessionSet) {
    this.token = token;
    this.#module = module;
    this.#login = login;
    this.#set = set;
  }

  async open(session: PooledSession): Promise<void> {
    const { blockedForAll } = this.#login;
    if (blockedForAll !== undefined) throw blockedForAll;
    session.keys.clear();
    session.identity = {};
    const run = this.#set.commands(session);
    if (!session.initialized) {
      const { owner } = await run("initialize", this.#module.initializeInput());
      session.initialized = true;
      session.ownsInstance = owner;
    }
    const state = await run("openSession", { token: this.#inSlot() });
    if (state.loginNeeded) await this.#login.login(run);
    else this.#login.sawLogin(state);
    this.#set.opened(session);
  }

  /**
   * Whether the token has moved to another slot than `before`, if the module says so without a fresh start. The module may not
   * be ours to finalize, or may have just been finalized.
   */
  async hasMoved(before: TokenDescription): Promise<boolean> {
    const list = await this.#module.tokens().catch(() => undefined);
    // Another session may have found it.
    if (this.token !== before) return true;
    const token = list === undefined ? undefined : findAgain(list, before);
    if (token === undefined || token.slotId === before.slotId) return false;
    this.token = token;
    return true;
  }

  #inSlot(): TokenInSlot {
    const { slotId, label, serial } = this.token;
    return { slotId, label, serial };
  }
}
