import { type PinSource, samePin } from "../pin.ts";

/** PIN sources by number: children tell equal PINs from others by it, and ask for a PIN with it. */
export class PinBook {
  readonly #sources: Map<number, PinSource> = new Map();
  #next = 0;

  numberOf(pin: PinSource): number {
    for (const [number, source] of this.#sources) if (samePin(source, pin)) return number;
    const number = this.#next++;
    this.#sources.set(number, pin);
    return number;
  }

  async read(number: number): Promise<string | undefined> {
    return this.#sources.get(number)?.read();
  }

  /** A child may ask for the PIN that its token accepted long after the signer that gave it was closed. The next will not. */
  forgetAllBut(numbers: readonly number[]): void {
    for (const number of this.#sources.keys()) if (!numbers.includes(number)) this.#sources.delete(number);
  }
}
