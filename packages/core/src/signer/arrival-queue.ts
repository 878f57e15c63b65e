/**
 * What waits, in the order in which it came. Any of it may leave before its turn. Adding, leaving and taking out cost the same
 * however long the queue is.
 *
 * @example
 * ```ts
 * import { ArrivalQueue } from "@signpost/core/adapter";
 *
 * const waiting = new ArrivalQueue<() => void>();
 * waiting.add(() => {});
 * waiting.next()?.();
 * ```
 */
export class ArrivalQueue<Item> implements Iterable<Item> {
  readonly #items: Set<Item> = new Set();
  /**
   * Kept from turn to turn: in a Set, each new iterator steps over the places of all that left. It cannot come to its end,
   * since all that is in the queue came after what it gave.
   */
  #turns: IterableIterator<Item> | undefined;

  /** How many wait. */
  get size(): number {
    return this.#items.size;
  }

  /** Adds an item at the end, unless it waits already. */
  add(item: Item): void {
    this.#items.add(item);
  }

  /** Takes out an item before its turn. */
  drop(item: Item): void {
    this.#items.delete(item);
    // A kept iterator keeps what it has not stepped over yet from being collected.
    if (this.#items.size === 0) this.#turns = undefined;
  }

  /** Takes out the item whose turn it is. */
  next(): Item | undefined {
    if (this.#items.size === 0) return undefined;
    this.#turns ??= this.#items.values();
    const { value }: { readonly value: Item } = this.#turns.next();
    this.drop(value);
    return value;
  }

  /** From the first to the last. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values();
  }
}
