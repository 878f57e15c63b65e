import { elapsedMs, type Instant, readInstant } from "@signpost/core/adapter";
import type { TokenList } from "../cryptoki/descriptions.ts";
import type { Attachment } from "../sharing/attachment.ts";
import { failedGeneration, isNotInitialized } from "../wire/command-error.ts";
import type { HangingCalls } from "./hanging-calls.ts";
import { INITIALIZE_INTERVAL_MS, LOOK_AGAIN_MS, REINITIALIZE_INTERVAL_MS, SHORT_START_MS } from "./limits.ts";

/** The pool of one token. A fresh start ends its sessions and opens them again. */
export interface FreshStartMember {
  readonly sessions: {
    pause(): void;
    drained(): Promise<void>;
    release(gone: boolean): Promise<void>;
    restore(list: TokenList): Promise<boolean>;
  };
  /** The module was finalized and initialized. */
  freshStart(): void;
}

/**
 * C_Finalize and C_Initialize of one module, then new sessions for every pool. Never finalizes during a call, and only a
 * module that is ours.
 */
export class FreshStarts {
  readonly members: Set<FreshStartMember> = new Set();
  readonly #attachment: Attachment;
  readonly #hanging: HangingCalls;
  readonly #tokens: () => Promise<TokenList>;
  #running: Promise<boolean> | undefined;
  #firstStart: Instant | undefined;
  #firstStartMs = 0;
  #lastInitialize: Instant | undefined;

  constructor(attachment: Attachment, hanging: HangingCalls, tokens: () => Promise<TokenList>) {
    this.#attachment = attachment;
    this.#hanging = hanging;
    this.#tokens = tokens;
  }

  /** The first attach to the module took this long. */
  attached(tookMs: number): void {
    this.#firstStart = readInstant();
    this.#firstStartMs = tookMs;
  }

  /**
   * Initializes the module again and restores every session. Concurrent calls share one run. Runs only if we own the
   * module, no call is hanging inside it, and the last run was long enough ago. A module that other code finalized is only
   * initialized, which any code may do. False if this is not possible, not possible yet, or did not help.
   */
  reinitialize(cause: unknown): Promise<boolean> {
    if (this.#running !== undefined) return this.#running;
    const finalized = isNotInitialized(cause);
    if (!this.#mayReinitialize(finalized)) return Promise.resolve(false);
    // Another thread may have initialized the module since it failed, which is ours then, and not to be done again.
    const generation = failedGeneration(cause) ?? this.#attachment.generation;
    this.#running = this.#reinitialize(finalized, generation).finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** When `reinitialize` may finalize again. Milliseconds from now. */
  reinitializeInMs(): number {
    return Math.max(0, REINITIALIZE_INTERVAL_MS - this.#attachment.sinceRenewal);
  }

  /** Initializes the module again for a caller whose token is missing. Pointless if that was done very recently. */
  async lookAgain(): Promise<boolean> {
    return this.lookAgainInMs() === 0 && this.reinitialize(undefined);
  }

  /** When `lookAgain` may help. Milliseconds from now. */
  lookAgainInMs(): number {
    const startedAgoMs = this.#isNoTrouble() ? LOOK_AGAIN_MS : agoMs(this.#firstStart);
    return Math.max(0, LOOK_AGAIN_MS - Math.min(startedAgoMs, agoMs(this.#lastInitialize)));
  }

  /** Resolves once no fresh start is running. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** SoftHSM misses a token while another process logs in to it. If that costs nothing, it is asked twice. */
  #isNoTrouble(): boolean {
    return this.members.size === 0 && this.#attachment.users === 1 && this.#firstStartMs < SHORT_START_MS;
  }

  #mayReinitialize(finalized: boolean): boolean {
    if (finalized) return agoMs(this.#lastInitialize) >= INITIALIZE_INTERVAL_MS;
    return (
      this.#attachment.owned && this.#hanging.count === 0 && this.#attachment.claimRenewal(REINITIALIZE_INTERVAL_MS)
    );
  }

  async #reinitialize(finalized: boolean, generation: number): Promise<boolean> {
    this.#lastInitialize = readInstant();
    const members = [...this.members];
    for (const { sessions } of members) sessions.pause();
    await Promise.all(members.map(({ sessions }) => sessions.drained()));
    await this.#renew(members, finalized, generation);
    const list = await this.#tokens().catch(() => NO_TOKENS);
    const restored = await Promise.all(members.map(({ sessions }) => sessions.restore(list)));
    return restored.every(Boolean);
  }

  async #renew(members: readonly FreshStartMember[], finalized: boolean, generation: number): Promise<void> {
    // A call that was found to hang meanwhile is still inside the module. Finalizing during it may crash.
    if (this.#hanging.count > 0 && !finalized) return;
    await Promise.all(members.map(({ sessions }) => sessions.release(finalized)));
    if (this.#hanging.count > 0 && !finalized) return;
    try {
      if (await this.#attachment.renew(!finalized, generation)) for (const member of members) member.freshStart();
    } catch {
      // The list of tokens reports it, and so does each session that does not return.
    }
  }
}

function agoMs(moment: Instant | undefined): number {
  return moment === undefined ? Number.POSITIVE_INFINITY : elapsedMs(moment);
}

const NO_TOKENS: TokenList = {
  library: { manufacturer: "", description: "", version: "" },
  tokens: [],
  unreadable: [],
};
