import { describe, expect, test } from "vitest";
import { ArrivalQueue } from "@signpost/core/adapter";

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
    const queue = queueOf(1, 2, 3, 4);
    queue.drop(1);
    expect(queue.next()).toBe(2);
    queue.drop(3);
    expect([...queue]).toEqual([4]);
    expect(queue.next()).toBe(4);
  });

  test("goes on after it was empty, however it became so", () => {
    const queue = queueOf(1);
    expect([queue.next(), queue.next()]).toEqual([1, undefined]);
    queue.add(2);
    queue.add(3);
    expect(queue.next()).toBe(2);
    queue.drop(3);
    queue.add(4);
    expect([queue.next(), queue.size]).toEqual([4, 0]);
  });

  // A Set that is asked for its first item again and again does not end within the time of a test.
  test("serves 300,000, and does not grow slower", () => {
    const queue = new ArrivalQueue<number>();
    for (let item = 0; item < 300_000; item += 1) queue.add(item);
    let [served, last] = [0, -1];
    for (let item = queue.next(); item !== undefined; item = queue.next()) {
      if (item < last) throw new Error("out of order");
      [served, last] = [served + 1, item];
      queue.drop(item + 2);
    }
    expect([served, last]).toEqual([150_000, 299_997]);
  });
});
