import type { SignerError } from "@signpost/core";
import { isPinRefusal } from "../wire/command-error.ts";
import { type TokenName, tokenKey } from "../wire/token-name.ts";

/**
 * Tokens that accept no PIN: locked, or one wrong PIN away from it. Each child would try one and so lock the token. So they
 * are kept here until every signer of the token is closed. Wrong PINs are remembered elsewhere, for the whole process.
 */
export class PinRefusals {
  readonly #refusals: Map<string, SignerError> = new Map();

  /** Keeps the first refusal of a token. Ignores errors that do not rule out every PIN. */
  add(token: TokenName, error: unknown): void {
    const key = tokenKey(token);
    if (isPinRefusal(error) && !this.#refusals.has(key)) this.#refusals.set(key, error);
  }

  of(token: TokenName): SignerError | undefined {
    return this.#refusals.get(tokenKey(token));
  }

  /** Forgets tokens that no signer has open. */
  forgetAllBut(tokens: readonly TokenName[]): void {
    const open = new Set(tokens.map(tokenKey));
    for (const key of this.#refusals.keys()) if (!open.has(key)) this.#refusals.delete(key);
  }
}
