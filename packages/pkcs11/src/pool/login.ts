import { ConfigurationError, SignerError } from "@signpost/core";
import { closedError, endedError, withinDeadline } from "@signpost/core/adapter";
import {
  CKF_PROTECTED_AUTHENTICATION_PATH,
  CKF_USER_PIN_FINAL_TRY,
  CKF_USER_PIN_INITIALIZED,
  CKF_USER_PIN_LOCKED,
} from "../cryptoki/constants.ts";
import { type PinSource, samePin } from "../request/pin.ts";
import { CommandError, isPinRefusal, toPublicError } from "../wire/command-error.ts";
import type { LoginState, RunCommand } from "../wire/commands.ts";
import { PIN_TIMEOUT_MS } from "./limits.ts";
import { createSerial } from "./serial.ts";

/** For the login of one signature. */
export interface AuthenticateOptions {
  /** Of the caller who waits for the signature. */
  readonly signal: AbortSignal | undefined;
  /** A call that runs longer hangs. Milliseconds. */
  readonly hangMs: number;
}

/**
 * The logins of one token: one at a time, and none after a refusal. A wrong PIN that is tried again by
 * itself locks the token.
 */
export class TokenLogin {
  readonly #pins: PinSource[] = [];
  readonly #inTurn = createSerial();
  readonly #onRefused: () => void;
  #proven: PinSource | undefined;
  #refusal: SignerError | undefined;

  constructor(onRefused: () => void) {
    this.#onRefused = onRefused;
  }

  /** Why nobody may log in any more, until every signer of the token is closed. */
  get refusal(): SignerError | undefined {
    return this.#refusal;
  }

  add(pin: PinSource): void {
    this.#pins.push(pin);
  }

  /** The PIN that the token accepted stays: logins of the other signers need it. */
  remove(pin: PinSource): void {
    const index = this.#pins.indexOf(pin);
    if (index >= 0) this.#pins.splice(index, 1);
  }

  /** Whether the token itself has accepted this PIN. */
  proves(pin: PinSource): boolean {
    return samePin(this.#proven, pin);
  }

  /** Logs a session in, unless somebody else's login has done it meanwhile. */
  login(run: RunCommand): Promise<void> {
    return this.#inTurn(async () => {
      this.requireOpen();
      const state = await run("session", null);
      if (!state.loginNeeded) return;
      const source = this.#source();
      const pin = await this.#pin(source, state);
      const { covered } = await run("login", { pin }).catch((error: unknown) => this.#throwRefused(error));
      if (!covered) this.#proven = source;
    });
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
      const source = this.#source();
      const pin = await this.#pin(source, state);
      try {
        await run("authenticate", { key, pin }, hangMs);
      } catch (error) {
        this.refused(error);
        throw error;
      }
      this.#proven ??= source;
    });
  }

  /** Remembers an error about the PIN; other errors pass through. */
  refused(error: unknown): unknown {
    const refusal = error instanceof CommandError ? toPublicError(error) : error;
    if (!isPinRefusal(refusal)) return error;
    this.#refusal ??= refusal;
    this.#onRefused();
    return this.#refusal;
  }

  /** @throws SignerError the refusal, once there is one. */
  requireOpen(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /** The PIN, asked anew, where the token's flags and everybody's luck so far permit a login. */
  async #pin(source: PinSource, state: LoginState): Promise<string> {
    try {
      requireLoginPossible(state);
      const pin = await readPin(source);
      // Somebody may have been refused while its source was thinking.
      this.requireOpen();
      return pin;
    } catch (error) {
      return this.#throwRefused(error);
    }
  }

  #throwRefused(error: unknown): never {
    throw this.refused(error);
  }

  #source(): PinSource {
    const source = this.#proven ?? this.#pins[0];
    if (source === undefined) throw closedError();
    return source;
  }
}

/**
 * Refuses a login that cannot succeed, or that would lock the token if it did not.
 *
 * @throws SignerError `pin_locked`, `pin_incorrect`, `access_denied`
 */
export function requireLoginPossible({ tokenFlags }: LoginState): void {
  const has = (flag: number): boolean => (tokenFlags & flag) !== 0;
  if (has(CKF_USER_PIN_LOCKED)) throw new SignerError("pin_locked", "the token's user PIN is locked");
  if (has(CKF_USER_PIN_FINAL_TRY)) {
    throw new SignerError(
      "pin_incorrect",
      "one more wrong PIN would lock the token (CKF_USER_PIN_FINAL_TRY): log in with another tool first",
    );
  }
  if (!has(CKF_USER_PIN_INITIALIZED)) throw new SignerError("pin_incorrect", "the token has no user PIN yet");
  if (has(CKF_PROTECTED_AUTHENTICATION_PATH)) {
    throw new SignerError("access_denied", "the token takes its PIN from a PIN pad, which pkcs11js cannot ask for");
  }
}

/** The PIN, or an error that says that it could not be had and nothing else. */
async function readPin(source: PinSource): Promise<string> {
  const deadlineMs = PIN_TIMEOUT_MS;
  try {
    return await withinDeadline(() => source.read(), { deadlineMs, message: `no answer within ${deadlineMs} ms` });
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new SignerError("unavailable", "pin: its source failed", { cause });
  }
}
