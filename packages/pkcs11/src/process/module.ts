import { SignerError, type SignerHealth } from "@signpost/core";
import { endedError } from "@signpost/core/adapter";
import { KEY_REFUSAL_MS, RETRY_INTERVAL_MS } from "../pool/limits.ts";
import type { KeyRequest } from "../request/key-request.ts";
import { sameKey } from "../request/public-key.ts";
import type { OpenedInChild } from "../wire/child-messages.ts";
import { isPinRefusal } from "../wire/command-error.ts";
import { CLOSE_HANG_MS } from "../wire/hang-limits.ts";
import { fromWire } from "../wire/wire-error.ts";
import { ChildLink } from "./child-link.ts";
import {
  closedError,
  isNowhere,
  type KeyInChild,
  keyInChild,
  keyNotes,
  keyStatus,
  type ParentKey,
  parentKey,
  refusalIn,
} from "./parent-key.ts";
import { PinBook } from "./pin-book.ts";
import { PinRefusals, tokenName } from "./pin-refusals.ts";
import { RestartPauses } from "./restart-pauses.ts";
import { UnderWay } from "./under-way.ts";

/** The child process for one module, and its successors. */
export class ProcessModule {
  readonly #keys: Set<ParentKey> = new Set();
  readonly #pins = new PinBook();
  readonly #refusals = new PinRefusals();
  readonly #pauses = new RestartPauses();
  /** Keys under way into a child: those of new signers, and those that an earlier child had. */
  readonly #opening = new UnderWay();
  readonly #reopening = new UnderWay();
  #child: ChildLink | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastEnd: string | undefined;
  #closed = false;

  async open(request: KeyRequest): Promise<{ readonly key: ParentKey; readonly opened: OpenedInChild }> {
    const child = await this.#childForOpening();
    const pin = this.#pins.retain(request.pin);
    try {
      const opened = await this.#opening.add(this.#openIn(child, request, pin));
      // Between its answer and now.
      if (child !== this.#child)
        throw new SignerError("unavailable", "the child process ended while the key was opened");
      const key = parentKey(child, request, pin, opened);
      this.#keys.add(key);
      this.#noteRefusal(key, refusalIn(key.current));
      return { key, opened };
    } catch (error) {
      this.#pins.release(pin);
      throw error;
    }
  }

  async sign(key: ParentKey, digest: Uint8Array, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const refusal = this.#refusals.of(key.token);
    if (refusal !== undefined) throw refusal;
    const { child, number } = await keyInChild(key);
    // While a child was started nobody may have waited for it any more.
    if (signal?.aborted === true) throw endedError(signal.reason);
    const call = child.call({ type: "sign", key: number, digest }, signal);
    const signature = await call.catch((error: unknown) => {
      this.#noteRefusal(key, error);
      throw error;
    });
    this.#pauses.reset();
    if (!(signature instanceof Uint8Array))
      throw new SignerError("integrity", "the child process answered with no signature");
    return signature;
  }

  refusal(key: ParentKey): SignerError | undefined {
    return this.#refusals.of(key.token);
  }

  status(key: ParentKey): SignerHealth["status"] {
    return this.#refusals.of(key.token) === undefined ? keyStatus(key) : "down";
  }

  notes(key: ParentKey): readonly string[] {
    const notes = [...keyNotes(key), this.#refusals.of(key.token)?.message];
    if (this.#lastEnd !== undefined) notes.push(`the child process was started again after its end: ${this.#lastEnd}`);
    return [...new Set(notes)].filter((note) => note !== undefined);
  }

  /** Comes back in a few seconds, whatever the module does: a child that does not close a key in time is killed. */
  async close(key: ParentKey): Promise<void> {
    if (this.#keys.delete(key)) this.#pins.release(key.pin);
    this.#refusals.forgetAllBut([...this.#keys].map(({ token }) => token));
    const { current } = key;
    isNowhere(key, closedError());
    // A key that is on its way into a child is closed when it arrives there.
    if (current === undefined || current.child.leaving) return;
    const { child, number } = current;
    const timer = setTimeout(
      () => child.kill("closing a key hung inside the module"),
      Math.max(CLOSE_HANG_MS, key.request.hangMs),
    );
    await child.call({ type: "close", key: number }).catch(() => {});
    clearTimeout(timer);
  }

  /** Ends the child. */
  async stop(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#child?.stop();
  }

  /** Once it is known which keys an earlier child had, and which tokens refuse their PINs, so that no child tries another. */
  async #childForOpening(): Promise<ChildLink> {
    for (;;) {
      // Another start now would be one more crash, and a second child beside the one to come.
      if (this.#timer !== undefined) throw this.#notYet();
      const child = (this.#child ??= this.#start());
      if (child.leaving) await child.exited;
      else if (this.#reopening.some) await this.#reopening.settled();
      else return child;
    }
  }

  #start(): ChildLink {
    try {
      const child: ChildLink = new ChildLink({
        pin: (number) => this.#pins.read(number),
        refused: (number, error) => {
          const key = [...this.#keys].find(({ current }) => current?.child === child && current.number === number);
          if (key !== undefined) this.#noteRefusal(key, fromWire(error));
        },
        ended: (reason) => this.#ended(child, reason),
      });
      return child;
    } catch (cause) {
      throw new SignerError("unavailable", "the child process could not be started", { cause });
    }
  }

  #ended(child: ChildLink, reason: string): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    this.#lastEnd = reason;
    this.#pins.childEnded();
    for (const key of this.#keys) isNowhere(key, this.#notYet());
    if (!this.#closed && this.#keys.size > 0) this.#restart();
  }

  #restart(): void {
    const pause = this.#pauses.next();
    if (pause === 0) return this.#reopenAll();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#reopenAll();
    }, pause).unref();
  }

  #notYet(): SignerError {
    return new SignerError(
      "unavailable",
      `the child process ended (${this.#lastEnd ?? ""}) and is not started again yet`,
    );
  }

  #reopenAll(): void {
    if (this.#keys.size === 0) return;
    try {
      this.#child = this.#start();
    } catch (error) {
      this.#lastEnd = error instanceof Error ? error.message : "";
      return this.#restart();
    }
    void this.#reopenIn(this.#child);
  }

  async #reopenIn(child: ChildLink): Promise<void> {
    // One after the other on each token: a PIN that it refuses is the last one that it sees.
    const last = new Map<string, Promise<unknown>>();
    for (const key of this.#keys) {
      const name = tokenName(key.token);
      last.set(name, this.#reopen(child, key, last.get(name)));
    }
    await Promise.all(last.values());
    const keys = [...this.#keys];
    if (child.leaving || keys.some(({ current }) => current !== undefined)) return;
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
    return this.#reopening.add(opening.catch(() => {}));
  }

  async #openAgain(child: ChildLink, key: ParentKey): Promise<KeyInChild> {
    try {
      const refusal = this.#refusals.of(key.token);
      if (refusal !== undefined) throw refusal;
      const opened = await this.#openIn(child, key.request, key.pin);
      if (child !== this.#child) throw this.#notYet();
      const current = { child, number: opened.key };
      await this.#requireSame(key, current, opened);
      key.current = current;
      this.#noteRefusal(key, refusalIn(current));
      return current;
    } catch (cause) {
      const error = asSignerError(cause);
      this.#noteRefusal(key, error);
      // The end of a child leaves the key to the next one.
      if (child === this.#child && this.#keys.has(key)) this.#tryLater(child, key, error);
      throw error;
    }
  }

  /** What was opened has to be the key from before, and still wanted; else it is closed again. */
  async #requireSame(key: ParentKey, { child, number }: KeyInChild, opened: OpenedInChild): Promise<void> {
    const same = sameKey(opened.publicKey, key.publicKey);
    if (same && this.#keys.has(key)) return;
    await child.call({ type: "close", key: number }).catch(() => {});
    if (same) throw closedError();
    throw new SignerError("wrong_key", `the token holds another key as ${JSON.stringify(opened.label)} now`);
  }

  /** In the same child. What trying again may cure is tried by itself; the rest when somebody asks for it. */
  #tryLater(child: ChildLink, key: ParentKey, error: SignerError): void {
    isNowhere(key, error);
    if (isPinRefusal(error)) return;
    const failed = key.opened;
    const again = (): Promise<KeyInChild> => {
      const others = Promise.all([this.#opening.settled(), this.#reopening.settled()]);
      void this.#reopen(child, key, others);
      return key.opened();
    };
    const wait = (): void => {
      if (child.leaving || key.opened !== failed) return;
      if (error.transient) again().catch(() => {});
      else key.opened = again;
    };
    setTimeout(wait, error.transient ? RETRY_INTERVAL_MS : KEY_REFUSAL_MS).unref();
  }

  async #openIn(child: ChildLink, { pin: _pin, ...request }: KeyRequest, pin: number): Promise<OpenedInChild> {
    const input = { ...request, pin, refused: this.#refusals.list() };
    return (await child.call({ type: "open", input })) as OpenedInChild;
  }

  /** Of a signer that is open: once all of a token's are closed, its refusals are forgotten. */
  #noteRefusal(key: ParentKey, error: unknown): void {
    if (this.#keys.has(key)) this.#refusals.add(key.token, error);
  }
}

function asSignerError(cause: unknown): SignerError {
  if (cause instanceof SignerError) return cause;
  const message = cause instanceof Error ? cause.message : "";
  return new SignerError("unavailable", `the key could not be opened again: ${message}`, { cause });
}
