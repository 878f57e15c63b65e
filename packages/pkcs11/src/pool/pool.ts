import type { SignerError, SignerHealth, SignOptions } from "@signpost/core";
import { closedError } from "@signpost/core/adapter";
import type { TokenDescription } from "../cryptoki/descriptions.ts";
import type { PinSource } from "../request/pin.ts";
import { isSuperseded, SupersededError, toPublicError } from "../wire/command-error.ts";
import { isRefusedPin } from "../wire/pin-error.ts";
import type { MadeSignature } from "../wire/signing-key.ts";
import { tokenName } from "../wire/token-name.ts";
import { createJob, type Job, JobQueue } from "./job-queue.ts";
import type { LoginPins } from "./login-pins.ts";
import { TokenLogin } from "./login.ts";
import type { ModuleLife } from "./module-life.ts";
import { keepsSession, type KeyToOpen, PoolKeys, type PoolOpenOutput } from "./pool-keys.ts";
import { STUCK_MS } from "./computing.ts";
import { createSerial } from "./serial.ts";
import type { PooledSession } from "./session.ts";
import { signDigest, type TakenSession } from "./taken-session.ts";
import { NotBegunError } from "./thread.ts";
import { TokenSessions } from "./token-sessions.ts";

/** A key to open in the pool. */
export interface PoolOpenInput extends KeyToOpen {
  /** The PIN of the key's signer. */
  readonly pin: PinSource;
  readonly hangMs: number;
}

/** A digest for a key of the pool to sign. */
export interface PoolSignInput {
  readonly key: number;
  readonly digest: Uint8Array;
  /** A call that runs longer counts as hanging. Milliseconds. */
  readonly hangMs: number;
  readonly call: SignOptions;
}

/** How often an opening goes on after a fresh start. A module that starts afresh more often does not work. */
const MAX_OPENINGS = 3;

/** One token, shared by all its signers: their keys, and the queue for its sessions. */
export class TokenPool {
  readonly sessions: TokenSessions;
  readonly #login: TokenLogin;
  readonly #module: ModuleLife;
  readonly #keys: PoolKeys;
  readonly #queue: JobQueue = new JobQueue();
  readonly #inTurn = createSerial();
  #later: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(token: TokenDescription, module: ModuleLife, pins: LoginPins) {
    this.#module = module;
    this.#login = new TokenLogin(tokenName(token, module.file), pins, () => this.#pump());
    this.sessions = new TokenSessions(token, module, this.#login, () => this.#pump());
    this.#keys = new PoolKeys(module, () => this.sessions.recoveries);
  }

  /**
   * Resolves once a first session is open and logged in, and the PIN is not known to be wrong. `wasIn`: the signer was let in by an
   * earlier child process.
   */
  async start(pin: PinSource, sessions: number, wasIn: boolean = false): Promise<void> {
    this.#login.signers.add(pin, wasIn);
    try {
      await this.sessions.start(sessions);
      // The sources of other signers may have failed, and with them the sessions: there is one more to ask now.
      if (this.sessions.set.down() !== undefined) await this.#inTurn(() => this.sessions.retry());
    } catch (error) {
      // It may be the PIN of another signer that was refused: each has its own tried, one after the other.
      if (!isRefusedPin(error) || this.#login.refusedSource === pin) throw error;
      await this.#inTurn(() => this.#startWith(pin, sessions));
    }
    await this.#login.signers.admit(pin);
  }

  async #startWith(pin: PinSource, sessions: number): Promise<void> {
    this.#login.prefer(pin);
    await this.sessions.start(sessions);
    await this.sessions.retry();
    this.#login.requireOpen();
  }

  /** Looks a key up, and proves its public half. Again after a fresh start of the module, which another session needed. */
  async openKey(input: PoolOpenInput): Promise<PoolOpenOutput> {
    const { pin, hangMs } = input;
    const key = this.#keys.nextNumber();
    const open = (session: PooledSession): Promise<PoolOpenOutput> =>
      this.#keys.open(this.#taken(session, { key, pin, hangMs, call: {} }), input);
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await this.#inSession({}, open);
      } catch (error) {
        if (!isSuperseded(error) || attempts === MAX_OPENINGS) throw error;
        await this.#module.freshStarts.settled();
      }
    }
  }

  /** No signer uses the key any more. */
  closeKey(key: number): void {
    this.#keys.close(key);
    for (const session of this.sessions.all) if (session.state === "idle") this.#forgetClosed(session);
  }

  /** A signer that gave this PIN is gone. */
  forgetPin(pin: PinSource): void {
    this.#login.signers.remove(pin);
  }

  async sign({ key: number, digest, hangMs, call }: PoolSignInput): Promise<MadeSignature> {
    const key = this.#keys.require(number);
    const joins = ({ keys }: PooledSession): boolean => keys.get(number)?.alwaysAuthenticate === false;
    const work = async (session: PooledSession): Promise<MadeSignature> => {
      const taken = this.#taken(session, { key: number, pin: key.pin, hangMs, call });
      if (!session.keys.has(number)) await this.#keys.findAgain(taken, key);
      const signature = await signDigest(taken, digest);
      this.sessions.succeeded();
      this.#login.signed();
      return { signature, session: session.identity };
    };
    return this.#inSession(call, work, joins);
  }

  /** Why no login is allowed until every signer of the token is closed. */
  get refusal(): SignerError | undefined {
    return this.#login.finalRefusal;
  }

  status(key: number): SignerHealth["status"] {
    const refusal = this.#keys.alwaysAuthenticates(key) ? this.#login.blocked : undefined;
    if ((refusal ?? this.#problem()) !== undefined || this.#module.hanging.count > 0) return "down";
    const status = this.sessions.set.status();
    return this.#login.refusal === undefined ? status : "degraded";
  }

  notes(pin: PinSource): readonly string[] {
    const hanging = this.#module.hanging.count;
    const problem = this.#login.refusal ?? this.sessions.set.down();
    const missing = problem === undefined ? this.sessions.set.missing() : undefined;
    const { asked } = this.#login.signers;
    return [
      this.#login.signers.note(pin) ?? "",
      asked === undefined ? "" : `a login waits for the PIN from ${asked.name}`,
      this.#module.owned
        ? ""
        : "other code in this process initialized the module, so recovery that needs C_Finalize is left to that code",
      hanging === 0
        ? ""
        : `${hanging} call(s) hang inside the module, so it cannot be finalized. Isolation "process" avoids this`,
      problem?.message ?? missing ?? "",
    ].filter((note) => note !== "");
  }

  /** The module was initialized again: a key that is not found from now on is really gone. */
  freshStart(): void {
    this.#keys.freshStart();
  }

  /** Rejects waiting jobs, lets running ones finish, then closes the sessions. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pump();
    await this.sessions.close();
    this.#login.signers.close();
  }

  /** Does work in a session once one is free, unless the call ends first. */
  #inSession<Value>(
    call: SignOptions,
    work: (session: PooledSession) => Promise<Value>,
    joins?: Job["joins"],
  ): Promise<Value> {
    const { job, result } = createJob(work, call, joins);
    this.#queue.add(job);
    this.#pump();
    return result;
  }

  #taken(session: PooledSession, of: Pick<TakenSession, "key" | "pin" | "hangMs" | "call">): TakenSession {
    const { key, pin, hangMs, call } = of;
    return { session, run: this.sessions.set.commands(session), login: this.#login, key, pin, hangMs, call };
  }

  /** Hands waiting jobs to idle sessions, or rejects them when no session will come. */
  #pump(): void {
    const problem = this.#closed ? closedError() : this.#problem();
    if (problem !== undefined) return this.#queue.rejectAll(problem);
    const { set } = this.sessions;
    while (this.#queue.size > 0) {
      const session = set.take();
      if (session === undefined && !this.#joinOne()) return set.limitsThreads ? this.#pumpLater() : undefined;
      const job = session === undefined ? undefined : this.#queue.next();
      if (session !== undefined && job !== undefined) void this.#run(session, job);
    }
  }

  /** Hands the next job to a session that is at work. False if none takes it. */
  #joinOne(): boolean {
    const { set } = this.sessions;
    const session = set.joinable();
    const job = session && this.#queue.next();
    if (session === undefined || job === undefined) return false;
    if (!job.joins(session)) {
      this.#queue.putBack(job);
      return false;
    }
    set.join(session);
    void this.#run(session, job);
    this.#pumpLater();
    return true;
  }

  /** A call may turn out to hang. Then other sessions do the work that waits for it, here or in the session's mailbox. */
  #pumpLater(): void {
    if (this.#later !== undefined) return;
    this.#later = setTimeout(() => {
      this.#later = undefined;
      const { set } = this.sessions;
      set.withdrawStuck();
      this.#pump();
      if (set.hasJoined) this.#pumpLater();
    }, STUCK_MS).unref();
  }

  /** Why no signatures are made now. The reason that keeps sessions from being opened says more than their absence. */
  #problem(): SignerError | undefined {
    const down = this.sessions.set.down();
    return this.#login.blockedForAll ?? (down === undefined ? undefined : (this.#login.refusal ?? down));
  }

  async #run(session: PooledSession, job: Job): Promise<void> {
    try {
      await job.run(session);
      this.#giveBack(session);
    } catch (caught) {
      if (caught instanceof NotBegunError) return this.#runLater(session, job);
      const error = this.#login.refused(caught);
      job.reject(this.#closed && error instanceof SupersededError ? closedError() : toPublicError(error));
      if (keepsSession(caught)) this.#giveBack(session);
      else await this.sessions.failed(session, caught);
    }
  }

  #runLater(session: PooledSession, job: Job): void {
    this.#queue.putBack(job);
    this.#giveBack(session);
    this.#pump();
  }

  #giveBack(session: PooledSession): void {
    this.#forgetClosed(session);
    this.sessions.set.giveBack(session);
  }

  /** Makes an idle session forget the keys of closed signers. */
  #forgetClosed(session: PooledSession): void {
    for (const key of session.keys.keys()) {
      if (this.#keys.has(key)) continue;
      session.keys.delete(key);
      this.sessions.set
        .commands(session)("forgetKey", { key })
        .catch(() => {});
    }
  }
}
