import type { SignerError } from "@signpost/core";
import { isPinRefusal } from "../wire/command-error.ts";
import { type TokenName, tokenKey } from "../wire/token-name.ts";

/**
 * Tokens that take no PIN: locked, or one try from it. Each child would try one, and so lock the token: they are kept here,
 * until every signer of the token is closed. A PIN that was wrong is remembered elsewhere, for the whole process.
 */
export class PinRefusals {
  readonly #refusals: Map<string, SignerError> = new Map();

  /** Keeps the first refusal of a token. Other errors say nothing about every PIN of it. */
  add(token: TokenName, error: unknown): void {
    const key = tokenKey(token);
    if (isPinRefusal(error) && !this.#refusals.has(key)) this.#refusals.set(key, error);
  }

  of(token: TokenName): SignerError | undefined {
    return this.#refusals.get(tokenKey(token));
  }

  /** Forgets the tokens that nobody has open any more. */
  forgetAllBut(tokens: readonly TokenName[]): void {
    const open = new Set(tokens.map(tokenKey));
    for (const key of this.#refusals.keys()) if (!open.has(key)) this.#refusals.delete(key);
  }
}
