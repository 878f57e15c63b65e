import { SignerError, type SignerHealth } from "@signpost/core";
import { closedError, endedError } from "@signpost/core/adapter";
import type { LoginPins } from "../pool/login-pins.ts";
import type { TokenCertificates } from "../cryptoki/descriptions.ts";
import type { KeyRequest, TokenRequest } from "../request/key-request.ts";
import { mayMatch, type TokenSelector } from "../request/select-token.ts";
import type { OpenedInChild, SignedInChild } from "../wire/child-messages.ts";
import { CLOSE_HANG_MS } from "../wire/hang-limits.ts";
import type { MadeSignature } from "../wire/signing-key.ts";
import { fromWire } from "../wire/wire-error.ts";
import type { ChildLink } from "./child-link.ts";
import { KeyBook } from "./key-book.ts";
import {
  isNowhere,
  keyInChild,
  type KeyInChild,
  keyNotes,
  keyStatus,
  openInChild,
  type ParentKey,
  parentKey,
  refusalIn,
} from "./parent-key.ts";
import { PinBook } from "./pin-book.ts";
import { Reopening } from "./reopening.ts";
import { ChildSuccession } from "./succession.ts";
import { UnderWay } from "./under-way.ts";

/** One module in successive child processes, as this process sees it: its keys, and the child that holds them. */
export class ProcessModule {
  readonly #keys = new KeyBook();
  readonly #pins: PinBook;
  /** Keys of new signers that are being opened in a child. */
  readonly #opening = new UnderWay<TokenSelector>();
  readonly #succession: ChildSuccession;
  readonly #reopening: Reopening;

  /** `pins`: for the logins in every child. */
  constructor(pins: LoginPins) {
    this.#pins = new PinBook(pins);
    this.#succession = new ChildSuccession({
      pins: {
        take: async (number, token) => {
          this.#keys.requireNotRefused(token);
          return this.#pins.take(number, token);
        },
        compare: async (number, token, accepted) => {
          const verdict = await this.#pins.compare(number, token, accepted);
          this.#releasePin();
          return verdict;
        },
      },
      refused: (child, number, error) => {
        const key = this.#keys.all.find(({ current }) => current?.child === child && current.number === number);
        if (key !== undefined) this.#keys.noteRefusal(key, fromWire(error));
      },
      ended: () => {
        this.#pins.childEnded();
        for (const key of this.#keys.all) isNowhere(key, this.#succession.notYet());
      },
      wanted: () => this.#keys.size > 0,
      succeeded: (child) => void this.#reopening.reopenAll(child),
    });
    this.#reopening = new Reopening(this.#keys, this.#succession, this.#opening);
  }

  async open(request: KeyRequest): Promise<{ readonly key: ParentKey; readonly opened: OpenedInChild }> {
    const child = await this.#childForOpening(request.selector);
    const pin = this.#pins.add(request.pin);
    try {
      const opened = await this.#opening.add(openInChild(child, request, pin), request.selector);
      // Between its answer and now.
      if (!this.#succession.isCurrent(child))
        throw new SignerError("unavailable", "the child process ended while the key was opened");
      const key = parentKey(child, request, pin, opened);
      this.#keys.add(key);
      this.#keys.noteRefusal(key, refusalIn(key.current));
      this.#releasePin();
      this.#reopening.followOn(child, key.token);
      return { key, opened };
    } catch (error) {
      this.#releasePin(pin);
      throw error;
    }
  }

  async sign(key: ParentKey, digest: Uint8Array, signal: AbortSignal | undefined): Promise<MadeSignature> {
    const refusal = this.#keys.refusal(key);
    if (refusal !== undefined) throw refusal;
    const { child, number } = await keyInChild(key);
    // The callers may have left while the child was starting.
    if (signal?.aborted === true) throw endedError(signal.reason);
    const call = child.call({ type: "sign", key: number, digest }, signal);
    const signed = await call.catch((error: unknown) => {
      this.#keys.noteRefusal(key, error);
      throw error;
    });
    this.#succession.proven();
    if (!isSigned(signed)) throw new SignerError("integrity", "the child process did not return a signature");
    return { signature: signed.signature, session: child.sessions.at(signed.session) };
  }

  /** The certificates of a token, which a child reads. */
  async certificates(request: TokenRequest): Promise<TokenCertificates> {
    const child = await this.#childForOpening(request.selector);
    return (await child.call({ type: "certificates", input: request })) as TokenCertificates;
  }

  refusal(key: ParentKey): SignerError | undefined {
    return this.#keys.refusal(key);
  }

  status(key: ParentKey): SignerHealth["status"] {
    return this.#keys.refusal(key) === undefined ? keyStatus(key) : "down";
  }

  notes(key: ParentKey): readonly string[] {
    const notes = [...keyNotes(key), this.#keys.refusal(key)?.message];
    const { lastEnd } = this.#succession;
    if (lastEnd !== undefined) notes.push(`the child process was restarted after it ended: ${lastEnd}`);
    return [...new Set(notes)].filter((note) => note !== undefined);
  }

  /** Returns within a few seconds in any case: a child that does not close a key in time is killed. */
  async close(key: ParentKey): Promise<void> {
    this.#keys.remove(key);
    const { current } = key;
    isNowhere(key, closedError());
    // A key that is being opened in a child is closed when it is open there.
    if (current !== undefined && !current.child.leaving) await closeInChild(current, key.request.hangMs);
    this.#releasePin(key.pin);
  }

  /** Ends the child. */
  stop(): Promise<void> {
    return this.#succession.stop();
  }

  /**
   * Waits until it is known whether an earlier child's keys on such a token are open again, or the token refuses their PINs.
   * Then a new signer's PIN is compared and not sent. No signer waits for other tokens, because a PIN source may hang.
   */
  async #childForOpening(selector: TokenSelector): Promise<ChildLink> {
    for (;;) {
      const child = this.#succession.child();
      const before = this.#reopening.underWay.settled((token) => mayMatch(token, selector));
      if (child.leaving) await child.exited;
      else if (before !== undefined) await before;
      else return child;
    }
  }

  /** The signer of a PIN is gone. A signer that is being opened may still need the PIN of a signer that is gone. */
  #releasePin(number?: number): void {
    if (number !== undefined) this.#pins.release(number);
    if (!this.#opening.some) this.#pins.forgetUnneeded(this.#keys.all);
  }
}

async function closeInChild({ child, number }: KeyInChild, hangMs: number): Promise<void> {
  const timer = setTimeout(() => child.kill("closing a key hung inside the module"), Math.max(CLOSE_HANG_MS, hangMs));
  await child.call({ type: "close", key: number }).catch(() => {});
  clearTimeout(timer);
}

function isSigned(value: unknown): value is SignedInChild {
  const { signature, session } = (value ?? {}) as Partial<SignedInChild>;
  return signature instanceof Uint8Array && typeof session === "number";
}
