/** Something in flight. */
export interface InFlightItem {
  /** Set by `InFlight`, -1 before. */
  index: number;
}

/**
 * The calls in flight. An array, because a Set with few items allocates a new table for almost every item that comes and
 * goes, and garbage collection of these tables takes longer than the rest of a call.
 */
export class InFlight<Item extends InFlightItem> implements Iterable<Item> {
  readonly #items: Item[] = [];
  readonly #onNone: (() => void)[] = [];

  add(item: Item): void {
    item.index = this.#items.length;
    this.#items.push(item);
  }

  delete(item: Item): void {
    const last = this.#items.at(-1);
    if (this.#items[item.index] !== item || last === undefined) return;
    // The last one takes its place, so that nothing has to move up.
    this.#items[item.index] = last;
    last.index = item.index;
    this.#items.pop();
    item.index = -1;
    if (this.#items.length > 0 || this.#onNone.length === 0) return;
    for (const resolve of this.#onNone.splice(0)) resolve();
  }

  /** Resolves once nothing is in flight. */
  async none(): Promise<void> {
    if (this.#items.length > 0) await new Promise<void>((resolve) => this.#onNone.push(resolve));
  }

  [Symbol.iterator](): Iterator<Item> {
    return [...this.#items].values();
  }
}
