import { describe, expect, test } from "vitest";
import { ArrivalQueue } from "@signpost/core/adapter";
import { survivingBytes } from "@signpost/test-backends/minor-collections";

function queueOf(...items: number[]): ArrivalQueue<number> {
  const queue = new ArrivalQueue<number>();
  for (const item of items) queue.add(item);
  return queue;
}

describe("a queue", () => {
  test("returns waiting items in the order in which they came, including those that come meanwhile", () => {
    const queue = queueOf(1, 2);
    const given = [queue.next()];
    queue.add(3);
    given.push(queue.next(), queue.next());
    expect(given).toEqual([1, 2, 3]);
    expect(queue.next()).toBeUndefined();
  });

  test("skips items that left before their turn", () => {
    const queue = new ArrivalQueue<number>();
    const leave = [1, 2, 3, 4].map((item) => queue.add(item));
    leave[0]?.();
    expect(queue.next()).toBe(2);
    leave[2]?.();
    expect([...queue]).toEqual([4]);
    expect(queue.next()).toBe(4);
  });

  test("goes on after it was empty, however it became so", () => {
    const queue = queueOf(1);
    expect([queue.next(), queue.next()]).toEqual([1, undefined]);
    queue.add(2);
    const leave = queue.add(3);
    expect(queue.next()).toBe(2);
    leave();
    queue.add(4);
    expect([queue.next(), queue.size]).toEqual([4, 0]);
  });

  // A Set that is asked for its first item again and again, or an array that moves up, does not end within the time of a test.
  test("serves 300,000, and does not grow slower", () => {
    const queue = new ArrivalQueue<number>();
    const leave = Array.from({ length: 300_000 }, (_, item) => queue.add(item));
    let [served, last] = [0, -1];
    for (let item = queue.next(); item !== undefined; item = queue.next()) {
      if (item < last) throw new Error("out of order");
      [served, last] = [served + 1, item];
      leave[item + 2]?.();
    }
    expect([served, last]).toEqual([150_000, 299_997]);
  });

  test("that is never empty lets minor garbage collections take the items that had their turn", async () => {
    const item = (): number[] => Array.from({ length: 100 }, () => 0);
    const queue = new ArrivalQueue<number[]>();
    for (let waiting = 0; waiting < 12; waiting += 1) queue.add(item());
    const passed = await survivingBytes(40, () => {
      for (let turn = 0; turn < 250; turn += 1) {
        queue.add(item());
        queue.next();
      }
    });
    // All of them are 8 MB.
    expect(passed).toBeLessThan(2_000_000);
  });
});
