import { openThreadKey } from "../pool/open-key.ts";
import type { ChildKeyState, OpenedInChild, OpenInput, SignedInChild } from "../wire/child-messages.ts";
import type { SigningKey } from "../wire/signing-key.ts";
import { toWire } from "../wire/wire-error.ts";
import type { ChildPins } from "./child-pins.ts";
import { SessionNumbers } from "./session-numbers.ts";

interface Entry {
  readonly opened: SigningKey;
  closing: Promise<void> | undefined;
  /** The last state that the parent was told. */
  reported: string;
}

/** The keys that a child has open, by number. */
export class ChildKeys {
  readonly #keys: Map<number, Entry> = new Map();
  readonly #sessions = new SessionNumbers();
  readonly #pins: ChildPins;
  #next = 0;

  constructor(pins: ChildPins) {
    this.#pins = pins;
  }

  /** A call hangs inside the module. */
  get hanging(): boolean {
    return [...this.#keys.values()].some(({ opened }) => opened.hanging() > 0);
  }

  async open(input: OpenInput): Promise<OpenedInChild> {
    const { pin: _pin, pinName: _name, ...request } = input;
    const opened = await openThreadKey({ ...request, pin: this.#pins.source(input) }, this.#pins);
    const key = this.#next++;
    this.#keys.set(key, { opened, closing: undefined, reported: "" });
    const { publicKey, token, label, id, sessions } = opened;
    return { key, publicKey, token, label, id, sessions };
  }

  async sign(key: number, digest: Uint8Array, signal: AbortSignal): Promise<SignedInChild> {
    const entry = this.#keys.get(key);
    if (entry === undefined) throw new Error("no such key");
    const { signature, session } = await entry.opened.sign(digest, { signal });
    return { signature, session: this.#sessions.numberOf(session) };
  }

  /** Until it has returned, and while a call still hangs after it, the key counts, so that the hang stays visible. */
  async close(key: number): Promise<null> {
    const entry = this.#keys.get(key);
    if (entry === undefined) return null;
    entry.closing ??= entry.opened.close();
    await entry.closing;
    if (entry.opened.hanging() === 0) this.#keys.delete(key);
    return null;
  }

  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#keys.keys()].map((key) => this.close(key)));
  }

  /** The states that the parent does not know yet. */
  changes(): readonly { readonly key: number; readonly state: ChildKeyState }[] {
    const states = [...this.#keys].filter(([, { closing }]) => closing === undefined);
    const changes = states.map(([key, entry]) => {
      const refusal = entry.opened.refusal();
      const state = {
        status: entry.opened.status(),
        notes: entry.opened.notes(),
        refusal: refusal === undefined ? undefined : toWire(refusal),
      };
      const text = JSON.stringify(state);
      if (entry.reported === text) return undefined;
      entry.reported = text;
      return { key, state };
    });
    return changes.filter((change) => change !== undefined);
  }
}
