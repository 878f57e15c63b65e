import type { SignerError } from "@signpost/core";
import type { TokenName } from "../wire/token-name.ts";
import type { ParentKey } from "./parent-key.ts";
import { PinRefusals } from "./pin-refusals.ts";

/** The keys that signers of this process have open on one module, and the tokens on which no PIN is tried. */
export class KeyBook {
  readonly #keys: Set<ParentKey> = new Set();
  readonly #refusals = new PinRefusals();

  get all(): readonly ParentKey[] {
    return [...this.#keys];
  }

  get size(): number {
    return this.#keys.size;
  }

  has(key: ParentKey): boolean {
    return this.#keys.has(key);
  }

  add(key: ParentKey): void {
    this.#keys.add(key);
  }

  /** Once all signers of a token are closed, its refusals are forgotten. False if the key was not there. */
  remove(key: ParentKey): boolean {
    const removed = this.#keys.delete(key);
    this.#refusals.forgetAllBut(this.all.map(({ token }) => token));
    return removed;
  }

  refusal(key: ParentKey): SignerError | undefined {
    return this.#refusals.of(key.token);
  }

  /** For a signer that is open. Ignores errors that are not a refusal of a PIN. */
  noteRefusal(key: ParentKey, error: unknown): void {
    if (this.#keys.has(key)) this.#refusals.add(key.token, error);
  }

  /** @throws SignerError if no PIN may be tried on a token, whichever child asks for one. */
  requireNotRefused(token: TokenName): void {
    const refusal = this.#refusals.of(token);
    if (refusal !== undefined) throw refusal;
  }
}
