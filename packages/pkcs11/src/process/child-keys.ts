import type { OpenKey } from "../backend.ts";
import { openThreadKey } from "../threads/open-key.ts";
import { type PinQuestions, refusalBeneath } from "./child-pins.ts";
import { type KeyState, type OpenedKey, type OpenInput, toWire, type WireError } from "./messages.ts";
import { isPinRefusal } from "./pin-refusals.ts";

interface Entry {
  readonly opened: OpenKey;
  refusal: WireError | undefined;
  closing: Promise<void> | undefined;
  /** The state that the parent knows. */
  reported: string;
}

const NO_DIGEST = new Uint8Array(32);

/** The keys that a child has open, by number. */
export class ChildKeys {
  readonly #keys: Map<number, Entry> = new Map();
  readonly #pins: PinQuestions;
  #next = 0;

  constructor(pins: PinQuestions) {
    this.#pins = pins;
  }

  /** A call hangs inside the module. */
  get hanging(): boolean {
    return [...this.#keys.values()].some(({ opened }) => opened.hanging() > 0);
  }

  async open(input: OpenInput): Promise<OpenedKey> {
    const { pin: _pin, refused: _refused, ...request } = input;
    const opened = await openThreadKey({ ...request, pin: this.#pins.source(input) }).catch((error: unknown) => {
      throw refusalBeneath(error);
    });
    const key = this.#next++;
    this.#keys.set(key, { opened, refusal: undefined, closing: undefined, reported: "" });
    const { publicKey, token, label, id, sessions } = opened;
    return { key, publicKey, token, label, id, sessions };
  }

  async sign(key: number, digest: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const entry = this.#keys.get(key);
    if (entry === undefined) throw new Error("no such key");
    return entry.opened.sign(digest, signal);
  }

  /** Until it has come back, or while a call still hangs behind it, the key counts: the hang is to be seen. */
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

  /** What the parent does not know yet. */
  async changes(): Promise<readonly { readonly key: number; readonly state: KeyState }[]> {
    const states = [...this.#keys].filter(([, { closing }]) => closing === undefined);
    const changes = await Promise.all(
      states.map(async ([key, entry]) => {
        entry.refusal ??= await refusalOf(entry.opened);
        const state = { status: entry.opened.status(), notes: entry.opened.notes(), refusal: entry.refusal };
        const text = JSON.stringify(state);
        if (entry.reported === text) return undefined;
        entry.reported = text;
        return { key, state };
      }),
    );
    return changes.filter((change) => change !== undefined);
  }
}

/**
 * What the token answered to a PIN, when a session of its own accord tried one and nobody signs who would be told. Sessions
 * that are down refuse work at once, and with that reason; should they come up, the signal has taken it back already.
 */
async function refusalOf(opened: OpenKey): Promise<WireError | undefined> {
  if (opened.status() !== "down" || opened.hanging() > 0) return undefined;
  const asked = new AbortController();
  const answer = opened.sign(NO_DIGEST, asked.signal).catch((error: unknown) => error);
  asked.abort();
  const error = await answer;
  return isPinRefusal(error) ? toWire(error) : undefined;
}
