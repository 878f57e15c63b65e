import { ConfigurationError, SignerError } from "@signpost/core";
import { elapsedMs, type Instant, readInstant } from "@signpost/core/adapter";
import { type PinSource, readPin } from "../request/pin.ts";
import { hasName, type TokenSelector } from "../request/select-token.ts";
import { type PinProblem, type ProcessPins, processPins } from "../sharing/process-pins.ts";
import {
  answersLost,
  differsFromAccepted,
  notConfirmed,
  type PinError,
  refusedBefore,
  refusedTooMany,
} from "../wire/pin-error.ts";
import type { PinOutcome, PinVerdict } from "../wire/pin-outcomes.ts";
import { describeToken, type TokenName, pinKey } from "../wire/token-name.ts";
import { ASK_AGAIN_MS } from "./limits.ts";
import type { LoginPins, PinTry } from "./login-pins.ts";

const PROBLEMS: Readonly<Record<PinProblem, (token: TokenName, source: string, pin: string) => PinError>> = {
  "refused before": refusedBefore,
  "too many refused": refusedTooMany,
  "answers lost": answersLost,
};

/**
 * The source's last PIN was refused, so it is not asked again yet. Either clock may end this pause early. That is safe:
 * `ProcessPins` remembers a refused PIN permanently and never sends it again, whatever the source returns.
 */
interface Refusal {
  readonly error: PinError;
  readonly askedAt: Instant;
  readonly forgotten: number;
}

/** A login, or the comparison of a PIN, that is waiting. */
interface Wait {
  readonly token: TokenName;
  /** As text. */
  readonly what: string;
}

/** The PINs for the logins of this thread and of its child processes. */
export class PinLedger implements LoginPins {
  readonly #pins: ProcessPins;
  /** By the identity of the source, then by token. */
  readonly #refusals: WeakMap<WeakKey, Map<string, Refusal>> = new WeakMap();

  /** What the signers of these sources are waiting for. */
  readonly #waiting: Map<PinSource, Wait> = new Map();

  constructor(pins: ProcessPins) {
    this.#pins = pins;
  }

  get forgotten(): number {
    return this.#pins.forgotten;
  }

  /** What a source's signer is waiting for: its PIN, or another signer. `selector`: of its token. */
  waiting(source: PinSource, selector: TokenSelector): string | undefined {
    const waits = this.#waiting.get(source) ?? this.#waitOf(selector);
    return waits === undefined ? undefined : `${describeToken(waits.token)} waits for ${waits.what}`;
  }

  /** Logins to a token are made one after the other, so a signer may wait for the source of another one. */
  #waitOf(selector: TokenSelector): Wait | undefined {
    const isNamed = selector.token !== undefined || selector.serial !== undefined;
    return isNamed ? [...this.#waiting.values()].find(({ token }) => hasName(token, selector)) : undefined;
  }

  async take(source: PinSource, token: TokenName): Promise<PinTry> {
    this.#requireNotLately(source, token);
    const askedAt = readInstant();
    const pin = await this.#read(source, token);
    const unlock = await this.#wait(source, token, "another login of this process", () => this.#pins.lock(token));
    const problem = this.#pins.problem(token, pin);
    if (problem !== undefined) {
      unlock();
      throw this.#refused(source, token, askedAt, PROBLEMS[problem](token, source.name, pin));
    }
    const takeBack = this.#pins.send(token, pin);
    let settled = false;
    return {
      pin,
      done: (outcome: PinOutcome) => {
        if (settled) return;
        settled = true;
        if (outcome === "accepted") this.#pins.accept(token, pin);
        if (outcome === "refused") {
          this.#pins.refuse(token, pin);
          this.#refused(source, token, askedAt, refusedBefore(token, source.name, pin));
        }
        if (outcome === "unknown") takeBack();
        unlock();
      },
    };
  }

  async compare(source: PinSource, token: TokenName, accepted: PinSource | undefined): Promise<PinVerdict> {
    const pin = await this.#read(source, token);
    const same = this.#pins.isAccepted(token, pin);
    if (same === undefined) return "unproven";
    if (same && accepted !== undefined) return "proven";
    // An older acceptance says nothing about a login that is not ours: the PIN may have been changed since.
    if (same) return (await this.#pins.hasSourceElsewhere(token, pin)) === true ? "proven" : "unproven";
    // While the token's PIN is being changed, the source of the old PIN already returns the new one.
    const given =
      accepted === undefined
        ? await this.#wait(source, token, "the PIN of another thread", () => this.#pins.isGivenElsewhere(token, pin))
        : await this.#isGiven(accepted, token, pin, source);
    if (given === "no source") return "unproven";
    if (given === "silent") throw notConfirmed(token, source.name);
    if (given) return "changed";
    throw differsFromAccepted(token, source.name);
  }

  offer(token: TokenName, accepted: () => PinSource | undefined): () => void {
    return this.#pins.addSource({
      token,
      reader: () => {
        const source = accepted();
        return source === undefined ? undefined : () => readPin(source);
      },
    });
  }

  /** A source that fails counts like a thread that does not answer. Never the source of the signer in `asker`. */
  async #isGiven(accepted: PinSource, token: TokenName, pin: string, asker: PinSource): Promise<boolean | "silent"> {
    try {
      return this.#pins.isSame(token, pin, await this.#read(accepted, token, asker));
    } catch {
      return "silent";
    }
  }

  /** `asker`: the source whose signer is waiting. */
  async #read(source: PinSource, token: TokenName, asker: PinSource = source): Promise<string> {
    try {
      return await this.#wait(asker, token, `the PIN from ${source.name}`, () => readPin(source));
    } catch (error) {
      throw ofToken(token, error);
    }
  }

  async #wait<Value>(asker: PinSource, token: TokenName, what: string, work: () => Promise<Value>): Promise<Value> {
    this.#waiting.set(asker, { token, what });
    try {
      return await work();
    } finally {
      this.#waiting.delete(asker);
    }
  }

  #requireNotLately(source: PinSource, token: TokenName): void {
    const refusal = this.#of(source)?.get(pinKey(token));
    if (refusal === undefined || elapsedMs(refusal.askedAt) > ASK_AGAIN_MS || refusal.forgotten !== this.forgotten)
      return;
    throw refusal.error;
  }

  #refused(source: PinSource, token: TokenName, askedAt: Instant, error: PinError): PinError {
    this.#of(source)?.set(pinKey(token), { error, askedAt, forgotten: this.forgotten });
    return error;
  }

  /** A PIN given as a value needs no call. */
  #of({ identity }: PinSource): Map<string, Refusal> | undefined {
    if (typeof identity !== "function") return undefined;
    const refusals = this.#refusals.get(identity) ?? new Map<string, Refusal>();
    this.#refusals.set(identity, refusals);
    return refusals;
  }
}

/** A source's error, with the token whose login asked for the PIN. */
function ofToken(token: TokenName, error: unknown): unknown {
  const name = describeToken(token);
  if (error instanceof SignerError)
    return new SignerError(error.code, `${name}: ${error.message}`, { cause: error.cause });
  if (!(error instanceof ConfigurationError)) return error;
  const { argument, message, code, cause } = error;
  return new ConfigurationError(argument, `${name}: ${message.slice(argument.length + 2)}`, { code, cause });
}

let ledger: PinLedger | undefined;

/** The ledger of this thread, for both isolations. */
export function pinLedger(): PinLedger {
  return (ledger ??= new PinLedger(processPins()));
}
