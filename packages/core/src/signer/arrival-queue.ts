/**
 * A first-in, first-out queue whose items may leave before their turn. All operations take the same time, no matter how
 * long the queue is.
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
   * Kept between calls of `next`, because a new iterator of a Set steps over the holes of all removed items. It never
   * reaches its end too early, since every item in the queue was added after the last one it returned.
   */
  #turns: IterableIterator<Item> | undefined;

  /** Number of waiting items. */
  get size(): number {
    return this.#items.size;
  }

  /** Adds an item at the end, unless it is already waiting. */
  add(item: Item): void {
    this.#items.add(item);
  }

  /** Removes an item before its turn. */
  drop(item: Item): void {
    this.#items.delete(item);
    // As long as the iterator is kept, removed items that it has not passed yet cannot be collected.
    if (this.#items.size === 0) this.#turns = undefined;
  }

  /** Removes and returns the first item. */
  next(): Item | undefined {
    if (this.#items.size === 0) return undefined;
    this.#turns ??= this.#items.values();
    const { value }: { readonly value: Item } = this.#turns.next();
    this.drop(value);
    return value;
  }

  /** Iterates from the first item to the last. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#items.values();
  }
}
