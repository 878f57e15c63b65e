import { SignerError } from "@signpost/core";
import { closedError, elapsedMs, endedError, type Instant, readInstant } from "@signpost/core/adapter";
import type { PinSource } from "../request/pin.ts";
import { CommandError, isPinIncorrect, isPinRefusal, toPublicError } from "../wire/command-error.ts";
import type { CommandOutput, LoginState, RunCommand } from "../wire/commands.ts";
import { HungCallError } from "../wire/hung-call.ts";
import { isRefusedPin } from "../wire/pin-error.ts";
import type { TokenName } from "../wire/token-name.ts";
import { Correction } from "./correction.ts";
import { ASK_AGAIN_MS } from "./limits.ts";
import { loginError, namedError, requireLoginPossible, unaskedError } from "./login-errors.ts";
import type { LoginPins } from "./login-pins.ts";
import { createSerial } from "./serial.ts";
import { SignerPins, type TakenPin } from "./signer-pins.ts";

/** For the login for one signature. */
export interface AuthenticateOptions {
  /** The signal of the caller who waits for the signature. */
  readonly signal: AbortSignal | undefined;
  /** A call that runs longer counts as hanging. Milliseconds. */
  readonly hangMs: number;
}

/** Why no login is allowed. */
interface Refusal {
  readonly error: SignerError;
  /** Whose PIN it was. */
  readonly source: PinSource | undefined;
  /** It was a login for one signature. */
  readonly forSignature: boolean;
  readonly refusedAt: Instant;
  /**
   * How long after that another PIN may be tried, by whichever clock is faster: `pins` never returns a refused PIN, however
   * early it is asked. Milliseconds. Infinity: none, until every signer of the token is closed.
   */
  readonly forMs: number;
  /** How often everything had been forgotten by then. */
  readonly forgotten: number;
}

/**
 * The logins of one token: one at a time, and none soon after a refusal. Retrying a wrong PIN locks the token, so `pins`
 * returns none that it has refused.
 */
export class TokenLogin {
  /** The PINs of the token's signers. */
  readonly signers: SignerPins;
  readonly #token: TokenName;
  readonly #pins: LoginPins;
  readonly #inTurn = createSerial();
  readonly #onRefused: () => void;
  #refusal: Refusal | undefined;
  readonly #correction: Correction;
  /** How many PINs the token has accepted from the pool. */
  #acceptances = 0;
  /** Why the pool makes no login that the token did not ask for. */
  #unaskedRefusal: SignerError | undefined;
  /** The error of that refusal. It does not affect signers that need no login. */
  readonly #unaskedErrors: WeakSet<object> = new WeakSet();

  constructor(token: TokenName, pins: LoginPins, onRefused: () => void) {
    this.signers = new SignerPins(token, pins);
    this.#correction = new Correction(this.signers);
    this.#token = token;
    this.#pins = pins;
    this.#onRefused = onRefused;
  }

  /** Why no login is allowed, until one succeeds. */
  get refusal(): SignerError | undefined {
    return this.#refusal?.error;
  }

  /** The refusal after which no PIN is tried, until every signer of the token is closed. */
  get finalRefusal(): SignerError | undefined {
    return this.#refusal?.forMs === Number.POSITIVE_INFINITY ? this.#refusal.error : undefined;
  }

  /** The refusal, while no source is asked again. */
  get blocked(): SignerError | undefined {
    if (this.#refusal === undefined || this.#refusal.forMs <= elapsedMs(this.#refusal.refusedAt)) return undefined;
    const forgotten = this.finalRefusal === undefined && this.#refusal.forgotten !== this.#pins.forgotten;
    return forgotten ? undefined : this.#refusal.error;
  }

  /**
   * The same, where it concerns every key. While the token is logged in, keys that need no login for each signature sign on after
   * the refusal of one for a signature.
   */
  get blockedForAll(): SignerError | undefined {
    return this.#refusal?.forSignature === true && this.finalRefusal === undefined ? undefined : this.blocked;
  }

  /** Whose PIN was refused. */
  get refusedSource(): PinSource | undefined {
    return this.#refusal?.source;
  }

  /**
   * If another signer's PIN was refused, a new signer's PIN is tried next. If no PIN may be tried any more, that stays
   * true.
   */
  prefer(source: PinSource): void {
    if (this.#refusal === undefined || this.finalRefusal !== undefined) return;
    this.#refusal = undefined;
    this.signers.prefer(source);
  }

  /** Logs in a session, unless another login has done so meanwhile. */
  login(run: RunCommand): Promise<void> {
    return this.#inTurn(async () => {
      this.requireOpen();
      const state = await run("session", null);
      if (!state.loginNeeded) return this.sawLogin(state);
      const taken = await this.#take(state, false);
      await this.#logIn(run, taken).catch((error: unknown) => {
        throw this.#failed(error, taken, false);
      });
    });
  }

  /**
   * Logs in a session for a key that is hidden without a login, although the token's flags ask for none. True if it is
   * logged in now, perhaps by another session's login. False if the token now asks for a login. A refusal ends only such
   * logins, because the keys of other signers may be visible. `own`: the source of the key's signer, since nothing yet
   * shows that other sources are right.
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

  /** Admits a signer of a token that is logged in, after the running login. Rejects with a PinError if its PIN is wrong. */
  async admitLate(source: PinSource): Promise<void> {
    // The token may show its keys before the login has returned.
    await this.#inTurn(async () => {});
    // Another thread, or other code, may have logged in since the sessions were opened.
    this.sawLogin({ loggedIn: true });
    await this.signers.admitLate(source);
  }

  /**
   * The login for one signature with a key that requires one each time (CKA_ALWAYS_AUTHENTICATE). It takes its turn like
   * every other login, so that only one of several signing sessions finds out that the PIN is wrong.
   *
   * @throws CommandError when the operation may have begun, so that the session must be replaced.
   */
  authenticate(run: RunCommand, key: number, options: AuthenticateOptions): Promise<void> {
    const { signal, hangMs } = options;
    return this.#inTurn(async () => {
      this.requireOpen();
      if (signal?.aborted === true) throw endedError(signal.reason);
      const state = await run("session", null);
      const taken = await this.#take(state, true);
      const { attempt } = taken;
      try {
        await run("authenticate", { key, pin: attempt.pin }, hangMs);
        this.#accepted(taken, true);
      } catch (error) {
        this.#endFailed(taken, error, true);
        this.#failed(error, taken, true);
        throw error;
      }
    });
  }

  /** A session is already logged in, by us or by other code. */
  sawLogin({ loggedIn }: Pick<LoginState, "loggedIn">): void {
    if (loggedIn) this.signers.covered();
  }

  /**
   * A signature was made. After a refusal, the token is logged in by another thread then, so the pool logs in no more and would
   * never hear that the refused source was corrected.
   */
  signed(): void {
    const refusal = this.#refusal;
    if (refusal?.source === undefined || this.blocked !== undefined) return;
    this.#correction.look(refusal.source, refusal.refusedAt, () => {
      if (this.#refusal === refusal) this.#refusal = undefined;
    });
  }

  /** Replaces an error about the PIN, from any call, with the refusal. Other errors are unchanged. */
  refused(error: unknown): unknown {
    if (typeof error === "object" && error !== null && this.#unaskedErrors.has(error)) return error;
    const told = error instanceof CommandError ? toPublicError(error) : error;
    if (!isPinRefusal(told)) return error;
    return this.#refusal === undefined ? this.#refuse(told, undefined, false) : this.#refusal.error;
  }

  /** @throws SignerError the refusal, if there is one. */
  requireOpen(): void {
    const { blocked } = this;
    if (blocked !== undefined) throw blocked;
  }

  /** Asks a source for the PIN now, if the token's flags and earlier refusals permit a login. */
  async #take(state: LoginState, forSignature: boolean): Promise<TakenPin> {
    const first = this.#source();
    try {
      requireLoginPossible(state);
    } catch (error) {
      throw this.#refuse(namedError(this.#token, error, first), first, forSignature);
    }
    const taken = await this.signers.take(first).catch((error: unknown) => {
      throw this.#refuse(error, first, forSignature);
    });
    if (this.blocked === undefined) return taken;
    // Another login was refused while the source was working.
    taken.attempt.done("unknown");
    throw this.blocked;
  }

  #accepted(taken: TakenPin, forSignature: boolean): void {
    this.#acceptances += 1;
    taken.attempt.done("accepted");
    this.#refusal = undefined;
    this.signers.accepted(taken, forSignature);
  }

  /** C_Login of a session. */
  async #logIn(run: RunCommand, taken: TakenPin): Promise<void> {
    const { attempt } = taken;
    try {
      this.#returned(taken, await run("login", { pin: attempt.pin }));
    } catch (error) {
      this.#endFailed(taken, error, false);
      throw error;
    }
  }

  /** C_Login of a session has returned. */
  #returned(taken: TakenPin, { covered }: CommandOutput<"login">): void {
    if (covered) this.sawLogin({ loggedIn: true });
    else this.#accepted(taken, false);
    taken.attempt.done("unknown");
  }

  /** Reports the outcome of a PIN whose login failed. */
  #endFailed(taken: TakenPin, error: unknown, forSignature: boolean): void {
    // The token may still accept or refuse it.
    if (error instanceof HungCallError) void this.#endLate(taken, error.late, forSignature);
    else taken.attempt.done(isPinIncorrect(error) ? "refused" : "unknown");
  }

  /** A login that hung has returned. Its outcome counts, although its caller is gone. */
  async #endLate(taken: TakenPin, late: Promise<unknown>, forSignature: boolean): Promise<void> {
    const { attempt } = taken;
    const before = this.#acceptances;
    try {
      const output = await late;
      // A login that came later says more.
      if (before !== this.#acceptances) attempt.done("unknown");
      else if (forSignature) this.#accepted(taken, true);
      else this.#returned(taken, output as CommandOutput<"login">);
    } catch (error) {
      attempt.done(isPinIncorrect(error) ? "refused" : "unknown");
    }
  }

  #failed(error: unknown, taken: TakenPin, forSignature: boolean): unknown {
    return this.#refuse(loginError(this.#token, error, taken), taken.source, forSignature);
  }

  /** Keeps an error about the PIN. */
  #refuse(error: unknown, source: PinSource | undefined, forSignature: boolean): unknown {
    const isFinal = isPinRefusal(error);
    if (!isFinal && !isRefusedPin(error)) return error;
    const forMs = isFinal ? Number.POSITIVE_INFINITY : ASK_AGAIN_MS;
    const { forgotten } = this.#pins;
    if (this.finalRefusal === undefined)
      this.#refusal = { error, source, forSignature, refusedAt: readInstant(), forMs, forgotten };
    if (source !== undefined) this.signers.refused(source);
    this.#onRefused();
    return this.#refusal?.error ?? error;
  }

  /**
   * `cause`: what is reported about a login that failed with `error`. Temporary errors and errors of the session are
   * unchanged.
   */
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
