import { setTimeout as pause } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import { closedError } from "@signpost/core/adapter";
import { KEY_REFUSAL_MS, RETRY_INTERVAL_MS } from "../pool/limits.ts";
import type { TokenDescription } from "../cryptoki/descriptions.ts";
import { mayMatch, type TokenSelector } from "../request/select-token.ts";
import { isPinRefusal } from "../wire/command-error.ts";
import { PinError } from "../wire/pin-error.ts";
import { type TokenName, tokenKey } from "../wire/token-name.ts";
import type { ChildLink } from "./child-link.ts";
import type { KeyBook } from "./key-book.ts";
import { isNowhere, type KeyInChild, openInChild, type ParentKey, refusalIn } from "./parent-key.ts";
import type { ChildSuccession } from "./succession.ts";
import { UnderWay } from "./under-way.ts";

/** Opens the keys of an earlier child in the next one, where each must be the same key. */
export class Reopening {
  /** Keys of an earlier child that are being opened in the next one. */
  readonly underWay: UnderWay<TokenDescription> = new UnderWay();
  readonly #keys: KeyBook;
  readonly #succession: ChildSuccession;
  /** Keys of new signers that are being opened. */
  readonly #opening: UnderWay<TokenSelector>;

  constructor(keys: KeyBook, succession: ChildSuccession, opening: UnderWay<TokenSelector>) {
    this.#keys = keys;
    this.#succession = succession;
    this.#opening = opening;
  }

  /** Opens every key in a child that is new. */
  async reopenAll(child: ChildLink): Promise<void> {
    const tokens = new Set(this.#keys.all.map(({ token }) => tokenKey(token)));
    await Promise.all([...tokens].map((name) => this.#reopenToken(child, name)));
    for (const { current, token } of this.#keys.all) if (current?.child === child) this.followOn(child, token);
    if ((await this.#uselessness(child)) === undefined) return;
    // New signers of other tokens are opened in it meanwhile: one may show that the child is well, and so may a token that is back.
    await pause(this.#succession.nextPause(), undefined, { ref: false });
    const reason = await this.#uselessness(child);
    if (reason !== undefined) this.#succession.replace(child, `no key could be opened again: ${reason}`);
  }

  /** Why the next child is to begin from the start. Keys that are refused for good are no reason. */
  async #uselessness(child: ChildLink): Promise<string | undefined> {
    // A new signer may show that the child is well.
    await this.#opening.settled(() => true);
    if (this.#isWell(child)) return undefined;
    const errors = await Promise.all(this.#keys.all.map((key) => key.opened().catch((error: unknown) => error)));
    if (this.#isWell(child)) return undefined;
    return errors.find(isTransient)?.message;
  }

  /** A child that reaches a login works: the next one would not get the PIN either. */
  #isWell(child: ChildLink): boolean {
    return child.leaving || child.missedPin || this.#keys.all.some(({ current }) => current !== undefined);
  }

  /**
   * One key after the other, so that the token sees no more PINs after one that it refuses. The newest signer first, because it
   * has the new PIN if it was changed.
   */
  #reopenToken(child: ChildLink, name: string): Promise<unknown> {
    const keys = this.#keys.all.filter(({ token }) => tokenKey(token) === name).toReversed();
    return keys.reduce<Promise<unknown>>((before, key) => this.#reopen(child, key, before), Promise.resolve());
  }

  /** A key of the token is open. Keys whose own PIN was refused or missing are tried again after that login. */
  followOn(child: ChildLink, token: TokenName): void {
    for (const key of this.#keys.all) {
      const isWaiting = key.failure !== undefined && mayPass(key.failure);
      if (isWaiting && tokenKey(key.token) === tokenKey(token)) void this.#reopen(child, key, this.#others(key));
    }
  }

  /** Running work on the token of a key, certain or possible. */
  #others({ token }: ParentKey): Promise<unknown> {
    return Promise.all([
      this.#opening.settled((selector) => mayMatch(token, selector)),
      this.underWay.settled((other) => tokenKey(other) === tokenKey(token)),
    ]);
  }

  /** Opens a key again after other work. Always resolves. */
  #reopen(child: ChildLink, key: ParentKey, before: Promise<unknown>): Promise<unknown> {
    const opening = before.then(() => this.#openAgain(child, key));
    key.failure = undefined;
    key.opened = () => opening;
    return this.underWay.add(
      opening.catch(() => {}),
      key.token,
    );
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

  /** In the same child. Temporary failures are retried automatically, others when a caller needs the key. */
  #tryLater(child: ChildLink, key: ParentKey, error: SignerError): void {
    isNowhere(key, error);
    if (isPinRefusal(error)) return;
    const byItself = mayPass(error);
    const failed = key.opened;
    const again = (): Promise<KeyInChild> => {
      void this.#reopen(child, key, this.#others(key));
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

/** True for a wrong PIN too: its source may return another one by then. */
function mayPass(error: SignerError): boolean {
  return error.transient || error instanceof PinError;
}

function asSignerError(cause: unknown): SignerError {
  if (cause instanceof SignerError) return cause;
  const message = cause instanceof Error ? cause.message : "";
  return new SignerError("unavailable", `the key could not be opened again: ${message}`, { cause });
}

function isTransient(outcome: unknown): outcome is SignerError {
  return outcome instanceof SignerError && outcome.transient;
}
