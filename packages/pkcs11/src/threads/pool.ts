import { SignerError, type SignerHealth } from "@signpost/core";
import { CommandError, recoveryAction, toPublicError } from "../failure-error.ts";
import type { PinSource } from "../pin.ts";
import { samePin } from "../pin.ts";
import type {
  CommandInput,
  CommandName,
  CommandOutput,
  FoundKey,
  KeyQuery,
  TokenDescription,
  TokenList,
} from "../protocol.ts";
import { createProbe } from "../public-key.ts";
import { findAgain } from "../select-token.ts";
import { createSerial } from "../serial.ts";
import { CKR_SESSION_COUNT } from "../worker/constants.ts";
import { createJob, type Job, type JobInput } from "./job.ts";
import { KEY_REFUSAL_MS, REPEATED_LIMIT, RETRY_INTERVAL_MS, SETUP_HANG_MS } from "./limits.ts";
import { pinRefusal, readPin, requireLoginPossible } from "./login.ts";
import { compareFound, type PoolKey } from "./pool-key.ts";
import { createSession, isLost, type PooledSession } from "./session.ts";

/** What a pool needs of the module that it belongs to. */
export interface PoolHost {
  readonly initializeInput: CommandInput<"initialize">;
  /** Initialises the module anew and restores every pool. False when that is not possible, or not yet. */
  reinitialize(cause: unknown): Promise<boolean>;
  /** When `reinitialize` may work again. Milliseconds from now; undefined when it is not for us to do. */
  reinitializeInMs(): number | undefined;
  /** A call hangs inside the module, or came back. */
  hanging(difference: 1 | -1): void;
}

/** The work was overtaken by a fresh start of the module, which has taken care of the session. */
class SupersededError extends Error {}

/** The sessions on one token, shared by all its signers. */
export class TokenPool {
  #token: TokenDescription;
  readonly #host: PoolHost;
  readonly #sessions: Set<PooledSession> = new Set();
  readonly #lost: Set<PooledSession> = new Set();
  readonly #keys: Map<number, PoolKey> = new Map();
  readonly #queue: Job[] = [];
  readonly #pins: PinSource[] = [];
  readonly #loginOnce = createSerial();
  #provenPin: PinSource | undefined;
  #target = 0;
  #nextKey = 0;
  #epoch = 0;
  #strikes = 0;
  #paused = false;
  #closed = false;
  #refusal: SignerError | undefined;
  #starting: Promise<void> | undefined;
  #retryTimer: NodeJS.Timeout | undefined;

  constructor(token: TokenDescription, host: PoolHost) {
    this.#token = token;
    this.#host = host;
  }

  get token(): TokenDescription {
    return this.#token;
  }

  get sessions(): Iterable<PooledSession> {
    return this.#sessions;
  }

  /** Resolves once a first session is open and logged in. The others follow by themselves. */
  async start(pin: PinSource, sessions: number): Promise<void> {
    this.#pins.push(pin);
    const most = this.#token.maxSessions;
    this.#target = Math.max(this.#target, most === 0 ? sessions : Math.min(sessions, most));
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#starting ??= this.#startFirst();
    await this.#starting;
    this.#fill();
  }

  /** Looks a key up in a session and proves nothing yet. */
  async openKey(query: KeyQuery): Promise<{ readonly key: number; readonly found: FoundKey }> {
    const key = this.#nextKey++;
    this.#keys.set(key, { query, publicKey: undefined, missing: "no", refusal: undefined });
    const session = await this.#takeSession();
    try {
      const found = await this.#step(session, this.#epoch, "findKey", { key, query });
      if (found.alwaysAuthenticate) await this.#giveContextPin(session, this.#epoch, key);
      session.keys.add(key);
      this.#giveBack(session);
      return { key, found };
    } catch (error) {
      this.#keys.delete(key);
      if (keepsSession(error)) this.#giveBack(session);
      else void this.#recover(session, error);
      throw error;
    }
  }

  /** From now on the key must have this public half wherever it is found again. */
  bindKey(key: number, publicKey: PoolKey["publicKey"]): void {
    const entry = this.#keys.get(key);
    if (entry !== undefined) entry.publicKey = publicKey;
  }

  closeKey(key: number): void {
    this.#keys.delete(key);
  }

  sign(input: JobInput): Promise<Uint8Array> {
    const refused = this.#refuse(input.key);
    if (refused !== undefined) return Promise.reject(refused);
    const { job, result } = createJob(input);
    this.#queue.push(job);
    this.#pump();
    return result;
  }

  status(): SignerHealth["status"] {
    if (this.#refusal !== undefined || this.#lost.size > 0 || this.#down() !== undefined) return "down";
    const troubled = [...this.#sessions].some(({ state }) => state === "failed" || state === "recovering");
    return troubled || this.#paused ? "degraded" : "ready";
  }

  notes(pin: PinSource): readonly string[] {
    const notes: string[] = [];
    if (!samePin(this.#provenPin, pin)) notes.push("the PIN was not proven: another login in this process covers it");
    if (this.#lost.size > 0) {
      notes.push(
        `${this.#lost.size} call(s) hang inside the module, which cannot be finalized meanwhile: isolation "process" is the way out`,
      );
    }
    const down = this.#refusal ?? this.#down();
    if (down !== undefined) notes.push(down.message);
    return notes;
  }

  /** Stops dispatching; nothing that was begun before goes on after its next command. */
  pause(): void {
    this.#epoch += 1;
    this.#paused = true;
  }

  /** Resolves once no thread of the pool is inside a call, lost ones excepted. */
  async drained(): Promise<void> {
    await Promise.all([...this.#sessions].map(({ thread }) => thread.drained()));
  }

  /** Drops every session, and finalises the instances that belong to single threads. */
  async release(): Promise<void> {
    await Promise.all(
      [...this.#sessions].map(async (session) => {
        session.keys.clear();
        session.initialized = false;
        const finalize = session.ownsInstance;
        session.ownsInstance = false;
        // An instance that is broken or finalised already answers with an error; it is left behind either way.
        await session.thread.run("finalize", { module: finalize }).catch(() => {});
      }),
    );
  }

  /** Opens all sessions again after the module was initialised anew. True when at least one is ready. */
  async restore(list: TokenList): Promise<boolean> {
    if (this.#closed) return true;
    const token = findAgain(list, this.#token);
    const epoch = this.#epoch;
    if (token !== undefined) this.#token = token;
    for (const key of this.#keys.values()) if (key.missing === "suspected") key.missing = "confirmed";
    await Promise.all(
      [...this.#sessions].map(async (session) => {
        session.state = "recovering";
        try {
          if (token === undefined)
            throw new SignerError("unavailable", `the token ${JSON.stringify(this.#token.label)} is not present`);
          await this.#setUp(session, epoch);
          session.state = "idle";
        } catch (error) {
          if (!isLost(session)) this.#fail(session, error);
        }
      }),
    );
    this.#paused = false;
    this.#settleQueue();
    this.#fill();
    return [...this.#sessions].some(({ state }) => state === "idle");
  }

  /** Rejects what waits, lets what runs come back, then closes the sessions. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retryTimer);
    this.#settleQueue();
    await this.drained();
    this.#epoch += 1;
    await this.release();
    await Promise.all([...this.#sessions].map(({ thread }) => thread.terminate()));
    this.#sessions.clear();
  }

  async #startFirst(): Promise<void> {
    const session = createSession();
    this.#sessions.add(session);
    try {
      await this.#setUp(session, this.#epoch);
      this.#giveBack(session);
    } catch (error) {
      this.#sessions.delete(session);
      this.#starting = undefined;
      if (!isLost(session)) await session.thread.run("finalize", { module: session.ownsInstance }).catch(() => {});
      if (!isLost(session)) await session.thread.terminate();
      throw error;
    }
  }

  /** Starts what is missing, at most as many threads again as are lost. */
  #fill(): void {
    while (
      !this.#closed &&
      this.#sessions.size < this.#target &&
      this.#sessions.size + this.#lost.size < 2 * this.#target
    ) {
      const session = createSession();
      this.#sessions.add(session);
      void this.#bringUp(session, this.#epoch);
    }
  }

  async #bringUp(session: PooledSession, epoch: number): Promise<void> {
    try {
      await this.#setUp(session, epoch);
      this.#giveBack(session);
    } catch (error) {
      await this.#setUpFailed(session, epoch, error);
    }
  }

  /** Opens a session on a thread, logged in. */
  async #setUp(session: PooledSession, epoch: number): Promise<void> {
    if (this.#refusal !== undefined) throw this.#refusal;
    session.keys.clear();
    if (!session.initialized) {
      const { owner } = await this.#step(session, epoch, "initialize", this.#host.initializeInput);
      session.initialized = true;
      session.ownsInstance = owner;
    }
    const state = await this.#step(session, epoch, "openSession", { slotId: this.#token.slotId });
    if (state.loginNeeded) await this.#loginOnce(() => this.#login(session, epoch));
  }

  async #login(session: PooledSession, epoch: number): Promise<void> {
    if (this.#refusal !== undefined) throw this.#refusal;
    const state = await this.#step(session, epoch, "session", null);
    if (!state.loginNeeded) return;
    const source = this.#provenPin ?? this.#pins[0];
    if (source === undefined) throw new SignerError("closed", "the signer is closed");
    try {
      requireLoginPossible(state);
      const pin = await readPin(source);
      const { covered } = await this.#step(session, epoch, "login", { pin });
      if (!covered) this.#provenPin = source;
    } catch (error) {
      throw this.#refused(error);
    }
  }

  async #giveContextPin(session: PooledSession, epoch: number, key: number): Promise<void> {
    const source = this.#provenPin ?? this.#pins[0];
    if (source === undefined) throw new SignerError("closed", "the signer is closed");
    await this.#step(session, epoch, "contextPin", { key, pin: await readPin(source) });
  }

  /** A wrong or locked PIN is final for everybody: another try might lock the token. */
  #refused(error: unknown): unknown {
    const refusal = pinRefusal(error);
    if (refusal === undefined) return error;
    this.#refusal ??= refusal;
    this.#settleQueue();
    return this.#refusal;
  }

  #pump(): void {
    if (this.#paused) return;
    for (const session of this.#sessions) {
      if (session.state !== "idle") continue;
      const job = this.#nextJob();
      if (job === undefined) return;
      session.state = "busy";
      void this.#run(session, job);
    }
  }

  #nextJob(): Job | undefined {
    for (;;) {
      const job = this.#queue.shift();
      if (job === undefined || !job.settled) return job;
    }
  }

  async #run(session: PooledSession, job: Job): Promise<void> {
    const epoch = this.#epoch;
    try {
      if (!session.keys.has(job.key)) await this.#prepareKey(session, epoch, job.key);
      if (!job.settled) {
        job.resolve(await this.#step(session, epoch, "sign", { key: job.key, digest: job.digest }, job.hangMs));
        this.#strikes = 0;
      }
      this.#giveBack(session);
    } catch (error) {
      const refused = this.#refused(error);
      job.reject(refused instanceof SupersededError ? unavailable(refused) : toPublicError(refused));
      if (keepsSession(error)) this.#giveBack(session);
      else await this.#recover(session, error);
    }
  }

  /** Looks a key up in a session that does not know it, and makes sure that it is still the same. */
  async #prepareKey(session: PooledSession, epoch: number, number: number): Promise<void> {
    const key = this.#keys.get(number);
    if (key === undefined) throw new SignerError("closed", "the signer is closed");
    try {
      const found = await this.#step(session, epoch, "findKey", { key: number, query: key.query });
      if (found.alwaysAuthenticate) await this.#giveContextPin(session, epoch, number);
      if (compareFound(key, found) === "unproven") await this.#proveKey(session, epoch, number, key);
      key.missing = "no";
      key.refusal = undefined;
      session.keys.add(number);
    } catch (error) {
      throw await this.#keyFailed(key, error);
    }
  }

  async #proveKey(session: PooledSession, epoch: number, number: number, { publicKey }: PoolKey): Promise<void> {
    const probe = createProbe();
    const signature = await this.#step(session, epoch, "sign", { key: number, digest: probe.digest });
    if (publicKey === undefined || !probe.verifies(publicKey, signature)) {
      throw new SignerError("wrong_key", "the token signs with another key now");
    }
  }

  /** A key that is gone may only be hidden from a module that has to be initialised anew. */
  async #keyFailed(key: PoolKey, error: unknown): Promise<unknown> {
    if (!keepsSession(error)) return error;
    const notFound =
      error instanceof CommandError && error.failure.kind === "key" && error.failure.code === "key_not_found";
    if (notFound && key.missing !== "confirmed") {
      key.missing = "suspected";
      if (this.#host.reinitializeInMs() !== undefined) {
        void this.#host.reinitialize(error);
        this.#retryLater();
        return new SignerError(
          "unavailable",
          "the key is not found; the module is initialized anew before that is believed",
          {
            cause: error,
          },
        );
      }
    }
    key.refusal = { error: toPublicError(error), until: performance.now() + KEY_REFUSAL_MS };
    return error;
  }

  async #recover(session: PooledSession, error: unknown): Promise<void> {
    const epoch = this.#epoch;
    if (this.#closed || session.state === "lost" || error instanceof SupersededError) return;
    session.state = "recovering";
    session.keys.clear();
    let action = recoveryAction(error);
    if (action === "repeated") {
      this.#strikes += 1;
      action = this.#strikes >= REPEATED_LIMIT ? "reinitialize" : "session";
    }
    // Whoever logged out or removed keys did it to all sessions of the token.
    if (action === "login") for (const other of this.#sessions) other.keys.clear();
    if (action === "reinitialize" && (await this.#host.reinitialize(error))) return;
    if (epoch !== this.#epoch) return;
    await this.#bringUp(session, epoch);
  }

  async #setUpFailed(session: PooledSession, epoch: number, error: unknown): Promise<void> {
    if (this.#closed || session.state === "lost" || epoch !== this.#epoch) return;
    if (isSessionCount(error) && this.#sessions.size > 1) {
      this.#target = this.#sessions.size - 1;
      this.#sessions.delete(session);
      await session.thread.run("finalize", { module: session.ownsInstance }).catch(() => {});
      await session.thread.terminate();
      return;
    }
    if (this.#refusal === undefined && (await this.#host.reinitialize(error))) return;
    if (epoch === this.#epoch) this.#fail(session, error);
  }

  #fail(session: PooledSession, error: unknown): void {
    session.state = "failed";
    session.error = error;
    this.#settleQueue();
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#retryTimer !== undefined || this.#closed || this.#refusal !== undefined) return;
    const wait = Math.min(RETRY_INTERVAL_MS, Math.max(this.#host.reinitializeInMs() ?? RETRY_INTERVAL_MS, 50));
    this.#retryTimer = setTimeout(() => void this.#retry(), wait).unref();
  }

  async #retry(): Promise<void> {
    this.#retryTimer = undefined;
    const suspected = [...this.#keys.values()].find(({ missing }) => missing === "suspected");
    if (suspected !== undefined && (await this.#host.reinitialize(undefined))) return;
    const failed = [...this.#sessions].filter(({ state }) => state === "failed");
    const [first, ...others] = failed;
    if (first !== undefined) await this.#recover(first, first.error);
    // The others only once the first has shown that it helps.
    if (first?.state === "idle" || first?.state === "busy") {
      await Promise.all(others.map((session) => this.#recover(session, session.error)));
    }
    if (suspected?.missing === "suspected" || [...this.#sessions].some(({ state }) => state === "failed"))
      this.#retryLater();
  }

  /** One command, watched: a call that does not return in time takes its thread out of the pool. */
  async #step<Name extends CommandName>(
    session: PooledSession,
    epoch: number,
    name: Name,
    input: CommandInput<Name>,
    hangMs: number = SETUP_HANG_MS,
  ): Promise<CommandOutput<Name>> {
    if (epoch !== this.#epoch) throw new SupersededError();
    const timer = setTimeout(() => this.#lose(session, name, hangMs), hangMs);
    try {
      return await session.thread.run(name, input);
    } finally {
      clearTimeout(timer);
    }
  }

  #lose(session: PooledSession, name: CommandName, hangMs: number): void {
    session.state = "lost";
    this.#sessions.delete(session);
    this.#lost.add(session);
    this.#host.hanging(1);
    const error = new SignerError("timeout", `the module has not returned from ${name} for ${hangMs} ms`);
    void session.thread.abandon(error).then(async () => {
      await session.thread.run("finalize", { module: session.ownsInstance }).catch(() => {});
      await session.thread.terminate();
      this.#lost.delete(session);
      this.#host.hanging(-1);
      this.#fill();
    });
    this.#fill();
  }

  async #takeSession(): Promise<PooledSession> {
    for (;;) {
      const session = [...this.#sessions].find(({ state }) => state === "idle");
      if (session !== undefined && !this.#paused) {
        session.state = "busy";
        return session;
      }
      const error = this.#refusal ?? this.#down();
      if (error !== undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  #giveBack(session: PooledSession): void {
    if (session.state === "lost" || session.state === "failed") return;
    session.state = "idle";
    this.#pump();
  }

  /** Why a request cannot even wait. */
  #refuse(number: number): SignerError | undefined {
    if (this.#closed) return new SignerError("closed", "the signer is closed");
    if (this.#refusal !== undefined) return this.#refusal;
    const refusal = this.#keys.get(number)?.refusal;
    if (refusal !== undefined && refusal.until > performance.now() && refusal.error instanceof SignerError)
      return refusal.error;
    return this.#down();
  }

  /** No session is ready and none is on its way. */
  #down(): SignerError | undefined {
    if (this.#paused) return undefined;
    const sessions = [...this.#sessions];
    if (sessions.some(({ state }) => state !== "failed")) return undefined;
    const cause = sessions[0]?.error;
    if (cause === undefined) return unavailable(new Error("every session hangs inside the module"));
    const { message } = toPublicError(cause);
    return new SignerError("unavailable", `no session is open: ${message}`, { cause });
  }

  /** Rejects what nobody will come for. */
  #settleQueue(): void {
    const error = this.#closed ? new SignerError("closed", "the signer is closed") : (this.#refusal ?? this.#down());
    if (error === undefined) return this.#pump();
    for (const job of this.#queue.splice(0)) job.reject(error);
  }
}

/** The session has done nothing wrong: it answered, and the answer is about the key. */
function keepsSession(error: unknown): boolean {
  if (error instanceof CommandError) return error.failure.kind === "key";
  return error instanceof SignerError && error.code !== "timeout";
}

function isSessionCount(error: unknown): boolean {
  return error instanceof CommandError && error.code === CKR_SESSION_COUNT;
}

function unavailable(cause: Error): SignerError {
  return new SignerError("unavailable", cause.message === "" ? "the session is being replaced" : cause.message, {
    cause,
  });
}
