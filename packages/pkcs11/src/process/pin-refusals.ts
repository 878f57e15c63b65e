import type { SignerError } from "@signpost/core";
import type { TokenDescription } from "../cryptoki/descriptions.ts";
import type { RefusedToken } from "../wire/child-messages.ts";
import { isPinRefusal } from "../wire/command-error.ts";
import { toWire } from "../wire/wire-error.ts";

/**
 * Tokens that have refused a PIN. Each child would try it once more, and so lock the token: they are kept here, until
 * every signer of the token is closed.
 */
export class PinRefusals {
  readonly #refusals: Map<string, { readonly token: TokenDescription; readonly error: SignerError }> = new Map();

  /** Keeps the first refusal of a token. Other errors say nothing about its PIN. */
  add(token: TokenDescription, error: unknown): void {
    const name = tokenName(token);
    if (!isPinRefusal(error) || this.#refusals.has(name)) return;
    this.#refusals.set(name, { token, error });
  }

  of(token: TokenDescription): SignerError | undefined {
    return this.#refusals.get(tokenName(token))?.error;
  }

  /** What a child has to know before it opens a key of it knows not which token. */
  list(): readonly RefusedToken[] {
    return [...this.#refusals.values()].map(({ token, error }) => ({
      label: token.label,
      serial: token.serial,
      error: toWire(error),
    }));
  }

  /** Forgets the tokens that nobody has open any more. */
  forgetAllBut(tokens: readonly TokenDescription[]): void {
    const open = new Set(tokens.map(tokenName));
    for (const name of this.#refusals.keys()) if (!open.has(name)) this.#refusals.delete(name);
  }
}

/** The slot is left out: a token may be in another one in the next child. */
export function tokenName({ label, serial }: TokenDescription): string {
  return JSON.stringify([label, serial]);
}
