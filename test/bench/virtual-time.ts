// Timers, immediates and performance.now() in simulated time: hours pass in seconds, and how busy the machine is changes
// nothing. What is measured is what the code decides, and when.
interface Event {
  readonly at: number;
  /** Of two events at the same time, the one that was planned first comes first. */
  readonly order: number;
  readonly run: () => void;
}

const realImmediate = setImmediate;

/** Runs the work in simulated time, which starts at 0. The globals are the real ones again at the end. */
export async function inVirtualTime<Result>(work: () => Promise<Result>): Promise<Result> {
  const { setTimeout, clearTimeout, setImmediate, clearImmediate } = globalThis;
  const events = new EventQueue();
  const cancelled = new WeakSet<Event>();
  let now = 0;
  let order = 0;
  const plan = (run: (...args: unknown[]) => void, ms: number, args: readonly unknown[]): Event => {
    const event = { at: now + ms, order: (order += 1), run: () => run(...args) };
    events.add(event);
    return event;
  };
  const cancel = (event: Event | undefined): void => void (event !== undefined && cancelled.add(event));
  Object.assign(globalThis, {
    setTimeout: (run: () => void, ms = 1, ...args: unknown[]) => plan(run, Math.max(1, ms), args),
    setImmediate: (run: () => void, ...args: unknown[]) => plan(run, 0, args),
    clearTimeout: cancel,
    clearImmediate: cancel,
  });
  Object.defineProperty(performance, "now", { value: () => now, configurable: true });
  try {
    let isDone = false;
    const result = work().finally(() => {
      isDone = true;
    });
    // Its error is thrown below.
    result.catch(() => {});
    await settled();
    while (!isDone) {
      const event = events.next();
      if (event === undefined) throw new Error("the work waits for something that is not simulated");
      if (cancelled.has(event)) continue;
      now = event.at;
      event.run();
      await settled();
    }
    return await result;
  } finally {
    Object.assign(globalThis, { setTimeout, setImmediate, clearTimeout, clearImmediate });
    Reflect.deleteProperty(performance, "now");
  }
}

/** Every promise that can settle without a timer has settled then. */
function settled(): Promise<void> {
  return new Promise((resolve) => void realImmediate(resolve));
}

/** A binary heap. */
class EventQueue {
  readonly #heap: Event[] = [];

  add(event: Event): void {
    const heap = this.#heap;
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, event)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  next(): Event | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const [left, right] = [heap[2 * index + 1], heap[2 * index + 2]];
      if (left === undefined) break;
      const isRight = right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (isBefore(last, child)) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
