import { SignerError } from "@signpost/core";
import { closedError } from "@signpost/core/adapter";
import { KEY_REFUSAL_MS, RETRY_INTERVAL_MS } from "../pool/limits.ts";
import { isPinRefusal } from "../wire/command-error.ts";
import { PinError } from "../wire/pin-error.ts";
import { tokenKey } from "../wire/token-name.ts";
import type { ChildLink } from "./child-link.ts";
import type { KeyBook } from "./key-book.ts";
import { isNowhere, type KeyInChild, openInChild, type ParentKey, refusalIn } from "./parent-key.ts";
import type { ChildSuccession } from "./succession.ts";
import { UnderWay } from "./under-way.ts";

/** Opens the keys of an earlier child in the next one, where each must be the same key. */
export class Reopening {
  /** Keys of an earlier child that are under way into the next one. */
  readonly underWay: UnderWay = new UnderWay();
  readonly #keys: KeyBook;
  readonly #succession: ChildSuccession;
  /** Keys of new signers that are under way. */
  readonly #opening: UnderWay;

  constructor(keys: KeyBook, succession: ChildSuccession, opening: UnderWay) {
    this.#keys = keys;
    this.#succession = succession;
    this.#opening = opening;
  }

  /** Opens every key in a child that is new. */
  async reopenAll(child: ChildLink): Promise<void> {
    // One after the other on each token: a PIN that it refuses is the last one that it sees.
    const last = new Map<string, Promise<unknown>>();
    for (const key of this.#keys.all) {
      const name = tokenKey(key.token);
      last.set(name, this.#reopen(child, key, last.get(name)));
    }
    await Promise.all(last.values());
    const keys = this.#keys.all;
    // A child that gets as far as a login is well: the next one would not be given its PIN either.
    if (child.leaving || child.missedPin || keys.some(({ current }) => current !== undefined)) return;
    // From the start, after the next pause. Keys that are refused for good are no reason.
    const errors = await Promise.all(keys.map((key) => key.opened().catch((error: unknown) => error)));
    const [transient] = errors.filter((error) => error instanceof SignerError && error.transient);
    if (transient instanceof SignerError) child.kill(`no key could be opened again: ${transient.message}`);
  }

  /** Opens a key again behind something else. Resolves in any case. */
  #reopen(child: ChildLink, key: ParentKey, before: Promise<unknown> = Promise.resolve()): Promise<unknown> {
    const opening = before.then(() => this.#openAgain(child, key));
    key.failure = undefined;
    key.opened = () => opening;
    return this.underWay.add(opening.catch(() => {}));
  }

  async #openAgain(child: ChildLink, key: ParentKey): Promise<KeyInChild> {
    try {
      const refusal = this.#keys.refusal(key);
      if (refusal !== undefined) throw refusal;
      const opened = await openInChild(child, key.request, key.pin);
      if (!this.#succession.isCurrent(child)) throw this.#succession.notYet();
      const current = { child, number: opened.key };
      await this.#requireWanted(key, current);
      key.current = current;
      this.#keys.noteRefusal(key, refusalIn(current));
      return current;
    } catch (cause) {
      const error = asSignerError(cause);
      this.#keys.noteRefusal(key, error);
      // The end of a child leaves the key to the next one.
      if (this.#succession.isCurrent(child) && this.#keys.has(key)) this.#tryLater(child, key, error);
      throw error;
    }
  }

  /** Its signer may have been closed meanwhile. */
  async #requireWanted(key: ParentKey, { child, number }: KeyInChild): Promise<void> {
    if (this.#keys.has(key)) return;
    await child.call({ type: "close", key: number }).catch(() => {});
    throw closedError();
  }

  /** In the same child. What trying again may cure is tried by itself; the rest when a caller asks for it. */
  #tryLater(child: ChildLink, key: ParentKey, error: SignerError): void {
    isNowhere(key, error);
    if (isPinRefusal(error)) return;
    // Its source may give another PIN by then.
    const byItself = error.transient || error instanceof PinError;
    const failed = key.opened;
    const again = (): Promise<KeyInChild> => {
      const others = Promise.all([this.#opening.settled(), this.underWay.settled()]);
      void this.#reopen(child, key, others);
      return key.opened();
    };
    const wait = (): void => {
      if (child.leaving || key.opened !== failed) return;
      if (byItself) again().catch(() => {});
      else key.opened = again;
    };
    setTimeout(wait, byItself ? RETRY_INTERVAL_MS : KEY_REFUSAL_MS).unref();
  }
}

function asSignerError(cause: unknown): SignerError {
  if (cause instanceof SignerError) return cause;
  const message = cause instanceof Error ? cause.message : "";
  return new SignerError("unavailable", `the key could not be opened again: ${message}`, { cause });
}
