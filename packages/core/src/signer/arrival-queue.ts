interface Arrival<Item> {
  /** Undefined once it does not wait any more. */
  item: Item | undefined;
  previous: Arrival<Item> | undefined;
  next: Arrival<Item> | undefined;
  isWaiting: boolean;
}

/**
 * A first-in, first-out queue whose items may leave before their turn. All operations take the same time, no matter how
 * long the queue is.
 *
 * It is a list, because a Set allocates a new table every few items, and each old table keeps the next one alive, with all
 * the items in it, until a full garbage collection. Minor collections then copy every item, and hold the event loop.
 *
 * @example
 * ```ts
 * import { ArrivalQueue } from "@signpost/core/adapter";
 *
 * const waiting = new ArrivalQueue<() => void>();
 * const leave = waiting.add(() => {});
 * waiting.next()?.();
 * leave();
 * ```
 */
export class ArrivalQueue<Item> implements Iterable<Item> {
  #first: Arrival<Item> | undefined;
  #last: Arrival<Item> | undefined;
  #size = 0;

  /** Number of waiting items. */
  get size(): number {
    return this.#size;
  }

  /** Adds an item at the end. Returns a function that removes it before its turn, and does nothing after that. */
  add(item: Item): () => void {
    const arrival: Arrival<Item> = { item, previous: this.#last, next: undefined, isWaiting: true };
    if (this.#last === undefined) this.#first = arrival;
    else this.#last.next = arrival;
    this.#last = arrival;
    this.#size += 1;
    return () => this.#remove(arrival);
  }

  /** Removes and returns the first item. */
  next(): Item | undefined {
    const first = this.#first;
    if (first === undefined) return undefined;
    const { item } = first;
    this.#remove(first);
    return item;
  }

  /** Iterates from the first item to the last. */
  *[Symbol.iterator](): Iterator<Item> {
    for (let arrival = this.#first; arrival !== undefined; arrival = arrival.next) yield arrival.item as Item;
  }

  #remove(arrival: Arrival<Item>): void {
    if (!arrival.isWaiting) return;
    const { previous, next } = arrival;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    arrival.isWaiting = false;
    // It may be old, and would keep what is younger alive until a full garbage collection.
    arrival.item = undefined;
    arrival.previous = undefined;
    arrival.next = undefined;
    this.#size -= 1;
  }
}
