import { type P256PublicJwk, SignerError, type SignerHealth } from "@signpost/core";
import { CommandError, toPublicError } from "../failure-error.ts";
import type { PinSource } from "../pin.ts";
import type { FoundKey, KeyQuery, TokenDescription } from "../protocol.ts";
import { createProbe, publicKeyOf, sameKey } from "../public-key.ts";
import { createJob, type Job } from "./job.ts";
import { KEY_REFUSAL_MS } from "./limits.ts";
import { TokenLogin } from "./login.ts";
import type { ModuleHost } from "./module-host.ts";
import { SessionSet } from "./session-set.ts";
import type { PooledSession, RunCommand } from "./session.ts";

/** A key that a signer of the pool uses, by its number in the pool. */
interface PoolKey {
  readonly number: number;
  readonly query: KeyQuery;
  /** Known once the key was opened. From then on it never changes. */
  publicKey: P256PublicJwk | undefined;
  /** The caller gave the public half: what the token's objects say does not count. */
  pinned: boolean;
  /** It was searched and not found: how many fresh starts of the module have been seen then. */
  missingSince: number | undefined;
  /** Why it cannot be used, and until when (performance.now) that is taken for granted. */
  refusal: { readonly error: SignerError; readonly until: number } | undefined;
}

export interface PoolSignInput {
  readonly key: number;
  readonly digest: Uint8Array;
  /** A call that runs longer hangs. Milliseconds. */
  readonly hangMs: number;
  readonly signal: AbortSignal | undefined;
}

/** One token, shared by all its signers: their keys, and the queue for its sessions. */
export class TokenPool {
  readonly sessions: SessionSet;
  readonly #login: TokenLogin;
  readonly #host: ModuleHost;
  readonly #keys: Map<number, PoolKey> = new Map();
  readonly #queue: Job[] = [];
  #nextKey = 0;
  #freshStarts = 0;
  #closed = false;

  constructor(token: TokenDescription, host: ModuleHost) {
    this.#host = host;
    this.#login = new TokenLogin(() => this.#pump());
    this.sessions = new SessionSet(token, host, this.#login, () => this.#pump());
  }

  /** Resolves once a first session is open and logged in. */
  async start(pin: PinSource, sessions: number): Promise<void> {
    this.#login.add(pin);
    await this.sessions.start(sessions);
  }

  /** Looks a key up. Nothing is proven yet. */
  async openKey(query: KeyQuery): Promise<{ readonly key: number; readonly found: FoundKey }> {
    const key: PoolKey = {
      number: this.#nextKey++,
      query,
      publicKey: undefined,
      pinned: false,
      missingSince: undefined,
      refusal: undefined,
    };
    const { job, result } = createJob((session) => this.#find(session, this.sessions.commands(session), key));
    this.#enqueue(job);
    const found = await result;
    this.#keys.set(key.number, key);
    return { key: key.number, found };
  }

  /** From now on the key must have this public half wherever it is found again. `pinned`: the caller gave it. */
  bindKey(number: number, publicKey: P256PublicJwk, pinned: boolean): void {
    const key = this.#keys.get(number);
    if (key !== undefined) Object.assign(key, { publicKey, pinned });
  }

  closeKey(number: number): void {
    this.#keys.delete(number);
  }

  /** A signer that gave this PIN is gone. */
  forgetPin(pin: PinSource): void {
    this.#login.remove(pin);
  }

  async sign({ key: number, digest, hangMs, signal }: PoolSignInput): Promise<Uint8Array> {
    const key = this.#keys.get(number);
    if (key === undefined) throw closedError();
    if (key.refusal !== undefined && key.refusal.until > performance.now()) throw key.refusal.error;
    const { job, result } = createJob(async (session) => {
      const run = this.sessions.commands(session);
      if (!session.keys.has(number)) await this.#findAgain(session, run, key);
      const signature = await run("sign", { key: number, digest }, hangMs);
      this.sessions.succeeded();
      return signature;
    }, signal);
    this.#enqueue(job);
    return result;
  }

  status(): SignerHealth["status"] {
    if (this.#login.refusal !== undefined || this.#host.hangingCalls() > 0) return "down";
    return this.sessions.status();
  }

  notes(pin: PinSource): readonly string[] {
    const hanging = this.#host.hangingCalls();
    const problem = this.#login.refusal ?? this.sessions.down();
    return [
      this.#login.proves(pin) ? "" : "the PIN was not proven: another login in this process covers it",
      this.#host.owner()
        ? ""
        : "the module was initialized by other code in this process: recovery that needs C_Finalize is left to it",
      hanging === 0
        ? ""
        : `${hanging} call(s) hang inside the module, which cannot be finalized meanwhile: isolation "process" is the way out`,
      problem?.message ?? "",
    ].filter((note) => note !== "");
  }

  /** The module was initialised anew: a key that is not found from now on is really gone. */
  freshStart(): void {
    this.#freshStarts += 1;
  }

  /** Rejects what waits, lets what runs come back, then closes the sessions. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pump();
    await this.sessions.close();
  }

  #enqueue(job: Job): void {
    this.#queue.push(job);
    this.#pump();
  }

  /** Hands waiting jobs to idle sessions, or rejects them when nobody will come for them. */
  #pump(): void {
    const problem = this.#closed ? closedError() : (this.#login.refusal ?? this.sessions.down());
    if (problem !== undefined) {
      for (const job of this.#queue.splice(0)) job.reject(problem);
      return;
    }
    while (this.#queue.length > 0) {
      if (this.#queue[0]?.settled === true) {
        this.#queue.shift();
        continue;
      }
      const session = this.sessions.take();
      if (session === undefined) return;
      const job = this.#queue.shift();
      if (job !== undefined) void this.#work(session, job);
    }
  }

  async #work(session: PooledSession, job: Job): Promise<void> {
    try {
      await job.run(session);
      this.sessions.giveBack(session);
    } catch (caught) {
      const error = this.#login.refused(caught);
      job.reject(toPublicError(error));
      if (keepsSession(caught)) this.sessions.giveBack(session);
      else await this.sessions.failed(session, caught);
    }
  }

  async #find(session: PooledSession, run: RunCommand, key: PoolKey): Promise<FoundKey> {
    const found = await run("findKey", { key: key.number, query: key.query });
    if (found.alwaysAuthenticate) await run("contextPin", { key: key.number, pin: await this.#login.contextPin() });
    session.keys.add(key.number);
    return found;
  }

  /** Looks a key up in a session that does not know it, and makes sure that it is still the same. */
  async #findAgain(session: PooledSession, run: RunCommand, key: PoolKey): Promise<void> {
    try {
      const found = await this.#find(session, run, key);
      if (key.publicKey !== undefined) await requireSame(run, key, key.publicKey, found);
      key.missingSince = undefined;
    } catch (error) {
      session.keys.delete(key.number);
      throw this.#notUsable(key, error);
    }
  }

  /** A key that is gone may only be hidden from a module that has to be initialised anew. */
  #notUsable(key: PoolKey, error: unknown): unknown {
    if (!keepsSession(error)) return error;
    if (isKeyNotFound(error) && this.#host.owner() && (key.missingSince ??= this.#freshStarts) === this.#freshStarts) {
      // It waits for the job that is failing here to be out of the way.
      setImmediate(() => void this.#host.reinitialize(error));
      return new SignerError(
        "unavailable",
        `${toPublicError(error).message} (the module is initialized anew before that is believed)`,
        {
          cause: error,
        },
      );
    }
    const refusal = toPublicError(error);
    if (refusal instanceof SignerError) key.refusal = { error: refusal, until: performance.now() + KEY_REFUSAL_MS };
    return error;
  }
}

async function requireSame(
  run: RunCommand,
  { number, pinned }: PoolKey,
  publicKey: P256PublicJwk,
  found: FoundKey,
): Promise<void> {
  const now = pinned ? undefined : publicKeyOf(found);
  if (now !== undefined) {
    if (sameKey(now, publicKey)) return;
    throw new SignerError("wrong_key", `the token holds another key as ${JSON.stringify(found.label)} now`);
  }
  // No object on the token tells its public half: a signature does.
  const probe = createProbe();
  if (!probe.verifies(publicKey, await run("sign", { key: number, digest: probe.digest }))) {
    throw new SignerError("wrong_key", `the token signs with another key as ${JSON.stringify(found.label)} now`);
  }
}

/** The session has done nothing wrong: it answered, and the answer is about the key. */
function keepsSession(error: unknown): boolean {
  if (error instanceof CommandError) return error.failure.kind === "key";
  return error instanceof SignerError && error.code !== "timeout";
}

function isKeyNotFound(error: unknown): boolean {
  return error instanceof CommandError && error.failure.kind === "key" && error.failure.code === "key_not_found";
}

function closedError(): SignerError {
  return new SignerError("closed", "the signer is closed");
}
