import { SignerError } from "@signpost/core";
import type { LoginPins, PinTry } from "../pool/login-pins.ts";
import type { PinSource } from "../request/pin.ts";
import { PinError } from "../wire/pin-error.ts";
import type { PinVerdict } from "../wire/pin-outcomes.ts";
import { type TokenName, tokenKey } from "../wire/token-name.ts";

interface Entry {
  readonly source: PinSource;
  /** Whether a signer with it is open or being opened. */
  isUsed: boolean;
  /** Tokens that accepted it from the current child, or whose accepted PIN was found to be this one. */
  readonly proven: Set<string>;
}

/** An open key: its token, and the number of its PIN. */
export interface PinUser {
  readonly token: TokenName;
  readonly pin: number;
}

/** PIN sources by number. A child asks for a PIN by that number. */
export class PinBook {
  readonly #pins: LoginPins;
  readonly #entries: Map<number, Entry> = new Map();
  #next = 0;

  constructor(pins: LoginPins) {
    this.#pins = pins;
  }

  /** Its number. */
  add(source: PinSource): number {
    const number = this.#next++;
    this.#entries.set(number, { source, isUsed: true, proven: new Set() });
    return number;
  }

  /** Its signer is gone. */
  release(number: number): void {
    const entry = this.#entries.get(number);
    if (entry !== undefined) entry.isUsed = false;
  }

  /**
   * Forgets the sources of signers that are gone. Keeps those that the child may ask for: the accepted source of a token
   * whose open signers have no source known to be right. `users`: the open keys.
   */
  forgetUnneeded(users: readonly PinUser[]): void {
    for (const [number, { isUsed, proven }] of this.#entries) {
      if (!isUsed && ![...proven].some((token) => this.#isNeeded(token, users))) this.#entries.delete(number);
    }
  }

  /** The PIN for a login in the child. */
  async take(number: number, token: TokenName): Promise<PinTry> {
    const { source, proven } = this.#require(number);
    const attempt = await this.#pins.take(source, token);
    return {
      pin: attempt.pin,
      done: (outcome) => {
        if (outcome === "accepted") proven.add(tokenKey(token));
        if (outcome === "refused") proven.delete(tokenKey(token));
        attempt.done(outcome);
      },
    };
  }

  /** Whether a PIN is the one that the token is logged in with. */
  async compare(number: number, token: TokenName, accepted: number | undefined): Promise<PinVerdict> {
    const { source, proven } = this.#require(number);
    const other = accepted === undefined ? undefined : this.#require(accepted).source;
    try {
      const verdict = await this.#pins.compare(source, token, other);
      if (verdict === "proven") proven.add(tokenKey(token));
      else proven.delete(tokenKey(token));
      return verdict;
    } catch (error) {
      if (error instanceof PinError && error.reason === "compared") proven.delete(tokenKey(token));
      throw error;
    }
  }

  /** The child is gone. The next one does not know which PINs its tokens accepted. */
  childEnded(): void {
    for (const { proven } of this.#entries.values()) proven.clear();
    this.forgetUnneeded([]);
  }

  #isNeeded(token: string, users: readonly PinUser[]): boolean {
    const ofToken = users.filter((user) => tokenKey(user.token) === token);
    return ofToken.length > 0 && !ofToken.some(({ pin }) => this.#entries.get(pin)?.proven.has(token) === true);
  }

  #require(number: number): Entry {
    const entry = this.#entries.get(number);
    if (entry === undefined) throw new SignerError("unavailable", "the signer whose PIN the token accepted is closed");
    return entry;
  }
}
