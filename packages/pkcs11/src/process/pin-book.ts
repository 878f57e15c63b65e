import { type PinSource, samePin } from "../request/pin.ts";

interface Entry {
  readonly source: PinSource;
  /** Signers that are open, or being opened, with it. */
  users: number;
  /** The child has asked for it: its token may have accepted it. */
  asked: boolean;
}

/** PIN sources by number: children tell equal PINs from others by it, and ask for a PIN with it. */
export class PinBook {
  readonly #entries: Map<number, Entry> = new Map();
  #next = 0;

  /** Its number, with one more user. */
  retain(pin: PinSource): number {
    for (const [number, entry] of this.#entries) {
      if (!samePin(entry.source, pin)) continue;
      entry.users += 1;
      return number;
    }
    const number = this.#next++;
    this.#entries.set(number, { source: pin, users: 1, asked: false });
    return number;
  }

  /** Takes the user back. A child may ask for the PIN that its token accepted long after the signer that gave it was closed. */
  release(number: number): void {
    const entry = this.#entries.get(number);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users === 0 && !entry.asked) this.#entries.delete(number);
  }

  async read(number: number): Promise<string | undefined> {
    const entry = this.#entries.get(number);
    if (entry === undefined) return undefined;
    entry.asked = true;
    return entry.source.read();
  }

  /** The child is gone: the next one does not know what its tokens accepted. */
  childEnded(): void {
    for (const [number, entry] of this.#entries) {
      entry.asked = false;
      if (entry.users === 0) this.#entries.delete(number);
    }
  }
}
