import { SignerError } from "@signpost/core";
import { closedError, elapsedMs, endedError, type Instant, readInstant } from "@signpost/core/adapter";
import type { PinSource } from "../request/pin.ts";
import { CommandError, isPinIncorrect, isPinRefusal, toPublicError } from "../wire/command-error.ts";
import type { LoginState, RunCommand } from "../wire/commands.ts";
import { HungCallError } from "../wire/hung-call.ts";
import { isRefusedPin } from "../wire/pin-error.ts";
import type { TokenName } from "../wire/token-name.ts";
import { ASK_AGAIN_MS } from "./limits.ts";
import { loginError, namedError, requireLoginPossible, unaskedError } from "./login-errors.ts";
import type { LoginPins, PinTry } from "./login-pins.ts";
import { createSerial } from "./serial.ts";
import { SignerPins, type TakenPin } from "./signer-pins.ts";

/** For the login of one signature. */
export interface AuthenticateOptions {
  /** Of the caller who waits for the signature. */
  readonly signal: AbortSignal | undefined;
  /** A call that runs longer hangs. Milliseconds. */
  readonly hangMs: number;
}

/** Why no login is allowed. */
interface Refusal {
  readonly error: SignerError;
  /** Whose PIN it was. */
  readonly source: PinSource | undefined;
  readonly refusedAt: Instant;
  /**
   * Another PIN may be tried so long after that, when either clock says so: `pins` gives none that was refused, however early it
   * is asked. Milliseconds. Infinity: none, until every signer of the token is closed.
   */
  readonly forMs: number;
  /** How often everything had been forgotten by then. */
  readonly forgotten: number;
}

/**
 * The logins of one token: one at a time, and none soon after a refusal. A wrong PIN that is tried again by itself locks
 * the token, so `pins` gives none that it has refused.
 */
export class TokenLogin {
  /** The PINs of the token's signers. */
  readonly signers: SignerPins;
  readonly #token: TokenName;
  readonly #pins: LoginPins;
  readonly #inTurn = createSerial();
  readonly #onRefused: () => void;
  #refusal: Refusal | undefined;
  /** Why no login is made that the token did not ask for. */
  #unaskedRefusal: SignerError | undefined;
  /** What was told of that refusal: no matter of signers that need no login. */
  readonly #unaskedErrors: WeakSet<object> = new WeakSet();

  constructor(token: TokenName, pins: LoginPins, onRefused: () => void) {
    this.signers = new SignerPins(token, pins);
    this.#token = token;
    this.#pins = pins;
    this.#onRefused = onRefused;
  }

  /** Why there is no login, until one succeeds. */
  get refusal(): SignerError | undefined {
    return this.#refusal?.error;
  }

  /** The refusal after which no PIN is tried, until every signer of the token is closed. */
  get finalRefusal(): SignerError | undefined {
    return this.#refusal?.forMs === Number.POSITIVE_INFINITY ? this.#refusal.error : undefined;
  }

  /** The refusal, as long as no source is asked again. */
  get blocked(): SignerError | undefined {
    if (this.#refusal === undefined || this.#refusal.forMs <= elapsedMs(this.#refusal.refusedAt)) return undefined;
    const forgotten = this.finalRefusal === undefined && this.#refusal.forgotten !== this.#pins.forgotten;
    return forgotten ? undefined : this.#refusal.error;
  }

  /** Whose PIN was refused. */
  get refusedSource(): PinSource | undefined {
    return this.#refusal?.source;
  }

  /** Where the PIN of another signer was refused, that of a new one is taken next. Where no PIN is tried any more, so it stays. */
  prefer(source: PinSource): void {
    if (this.#refusal === undefined || this.finalRefusal !== undefined) return;
    this.#refusal = undefined;
    this.signers.prefer(source);
  }

  /** Logs a session in, unless another login has done it meanwhile. */
  login(run: RunCommand): Promise<void> {
    return this.#inTurn(async () => {
      this.requireOpen();
      const state = await run("session", null);
      if (!state.loginNeeded) return this.sawLogin(state);
      const taken = await this.#take(state);
      await this.#logIn(run, taken).catch((error: unknown) => {
        throw this.#failed(error, taken);
      });
    });
  }

  /**
   * The login of a session for a key that does not show without one, though the flags of the token ask for none. True when
   * it is logged in now: the login of another session may have done it. False where the token asks for a login by now. A
   * refusal ends such logins, and no more: the keys of other signers may show. `own`: the source of the key's signer, as
   * nothing has told yet whether those of others are right.
   */
  loginUnasked(run: RunCommand, own: PinSource, reason: string): Promise<boolean> {
    return this.#inTurn(async () => {
      this.requireOpen();
      const state = await run("session", null);
      if (state.loggedIn) return true;
      if (state.loginNeeded) return false;
      const source = this.signers.sourceFor(own);
      let taken: TakenPin | undefined;
      try {
        if (this.#unaskedRefusal !== undefined) throw this.#unaskedRefusal;
        requireLoginPossible(state);
        taken = await this.signers.take(source);
        await this.#logIn(run, taken);
        return true;
      } catch (error) {
        const told =
          taken === undefined ? namedError(this.#token, error, source) : loginError(this.#token, error, taken);
        throw this.#unaskedError(error, toPublicError(told), taken?.source ?? source, reason);
      }
    });
  }

  /** Lets a signer in once more, after the login that is under way. Rejects with a PinError where its PIN is wrong. */
  async admitLate(source: PinSource): Promise<void> {
    // The token may show its keys before the login has come back.
    await this.#inTurn(async () => {});
    await this.signers.admitLate(source);
  }

  /**
   * The login for one signature with a key that wants one for each (CKA_ALWAYS_AUTHENTICATE). It takes its turn like
   * every other: of several sessions that sign, one alone finds out that the PIN is wrong.
   *
   * @throws CommandError when the operation may have begun: the session has to be replaced then.
   */
  authenticate(run: RunCommand, key: number, options: AuthenticateOptions): Promise<void> {
    const { signal, hangMs } = options;
    return this.#inTurn(async () => {
      this.requireOpen();
      if (signal?.aborted === true) throw endedError(signal.reason);
      const state = await run("session", null);
      const taken = await this.#take(state);
      const { attempt } = taken;
      try {
        await run("authenticate", { key, pin: attempt.pin }, hangMs);
        this.#accepted(taken, true);
      } catch (error) {
        endFailed(attempt, error);
        this.#failed(error, taken);
        throw error;
      }
    });
  }

  /** A session is logged in already: by us, or by other code. */
  sawLogin({ loggedIn }: Pick<LoginState, "loggedIn">): void {
    if (loggedIn) this.signers.covered();
  }

  /** The refusal instead of an error about the PIN, from whichever call; other errors pass through. */
  refused(error: unknown): unknown {
    if (typeof error === "object" && error !== null && this.#unaskedErrors.has(error)) return error;
    const told = error instanceof CommandError ? toPublicError(error) : error;
    if (!isPinRefusal(told)) return error;
    return this.#refusal === undefined ? this.#refuse(told, undefined) : this.#refusal.error;
  }

  /** @throws SignerError the refusal, where there is one. */
  requireOpen(): void {
    const { blocked } = this;
    if (blocked !== undefined) throw blocked;
  }

  /** A PIN, asked of its source now, where the token's flags and everybody's luck so far permit a login. */
  async #take(state: LoginState): Promise<TakenPin> {
    const first = this.#source();
    try {
      requireLoginPossible(state);
    } catch (error) {
      throw this.#refuse(namedError(this.#token, error, first), first);
    }
    const taken = await this.signers.take(first).catch((error: unknown) => {
      throw this.#refuse(error, first);
    });
    if (this.blocked === undefined) return taken;
    // Another login was refused while the source was working.
    taken.attempt.done("unknown");
    throw this.blocked;
  }

  #accepted({ source, attempt }: TakenPin, forSignature: boolean): void {
    attempt.done("accepted");
    this.#refusal = undefined;
    this.signers.accepted(source, forSignature);
  }

  /** C_Login of a session. */
  async #logIn(run: RunCommand, taken: TakenPin): Promise<void> {
    const { attempt } = taken;
    try {
      const { covered } = await run("login", { pin: attempt.pin });
      if (covered) this.sawLogin({ loggedIn: true });
      else this.#accepted(taken, false);
      attempt.done("unknown");
    } catch (error) {
      endFailed(attempt, error);
      throw error;
    }
  }

  #failed(error: unknown, taken: TakenPin): unknown {
    return this.#refuse(loginError(this.#token, error, taken), taken.source);
  }

  /** Keeps an error about the PIN. */
  #refuse(error: unknown, source: PinSource | undefined): unknown {
    const isFinal = isPinRefusal(error);
    if (!isFinal && !isRefusedPin(error)) return error;
    const forMs = isFinal ? Number.POSITIVE_INFINITY : ASK_AGAIN_MS;
    const { forgotten } = this.#pins;
    if (this.finalRefusal === undefined) this.#refusal = { error, source, refusedAt: readInstant(), forMs, forgotten };
    if (source !== undefined) this.signers.refused(source);
    this.#onRefused();
    return this.#refusal?.error ?? error;
  }

  /** `cause`: what is told of a login that failed with `error`. What may pass, and what is wrong with the session, stays as it is. */
  #unaskedError(error: unknown, cause: Error, source: PinSource, reason: string): unknown {
    if (!(cause instanceof SignerError) || cause.transient) return error;
    if (isRefusedPin(cause)) this.signers.refused(source);
    const told = unaskedError(cause, reason);
    if (!isPinRefusal(told)) return told;
    this.#unaskedRefusal ??= cause;
    this.#unaskedErrors.add(told);
    return told;
  }

  #source(): PinSource {
    const { source } = this.signers;
    if (source === undefined) throw closedError();
    return source;
  }
}

/** Tells what became of a PIN whose login failed. */
function endFailed(attempt: PinTry, error: unknown): void {
  // The token may refuse it yet.
  if (error instanceof HungCallError) void endLate(attempt, error.late);
  else attempt.done(isPinIncorrect(error) ? "refused" : "unknown");
}

/** A login that hung has come back: what became of the PIN is remembered, though no caller waits for it. */
async function endLate(attempt: PinTry, late: Promise<unknown>): Promise<void> {
  try {
    await late;
    attempt.done("unknown");
  } catch (error) {
    attempt.done(isPinIncorrect(error) ? "refused" : "unknown");
  }
}
