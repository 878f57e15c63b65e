import { expect, it } from "vitest";
import { createRecentlyUsed } from "../src/recently-used.ts";

it("keeps the most recently used values, and returns the dropped one", () => {
  const used = createRecentlyUsed<number>(3);
  for (const [key, value] of [
    ["a", 1],
    ["b", 2],
    ["c", 3],
  ] as const)
    expect(used.set(key, value)).toBeUndefined();
  expect(used.get("a")).toBe(1);
  expect(used.set("b", 20)).toBeUndefined();
  expect(used.set("d", 4)).toEqual(["c", 3]);
  expect(used.get("d")).toBe(4);
  expect(used.set("e", 5)).toEqual(["a", 1]);
  expect(["a", "b", "c", "d", "e"].map((key) => used.get(key))).toEqual([undefined, 20, undefined, 4, 5]);
});

it("is as a plain list that is searched", () => {
  const used = createRecentlyUsed<number>(5);
  let list: (readonly [string, number])[] = [];
  let random = 1;
  for (let step = 0; step < 5000; step += 1) {
    random = (random * 48_271) % 2_147_483_647;
    const key = String(random % 9);
    const known = list.find(([name]) => name === key);
    if (random % 2 === 0) {
      expect(used.get(key)).toBe(known?.[1]);
      if (known !== undefined) list = [...list.filter((one) => one !== known), known];
    } else {
      list = [...list.filter((one) => one !== known), [key, step]];
      expect(used.set(key, step)).toEqual(list.length > 5 ? list[0] : undefined);
      list = list.slice(-5);
    }
  }
});

it("finds one of many that is used all the time in no time", () => {
  const used = createRecentlyUsed<number>(10_000);
  for (let index = 0; index < 10_000; index += 1) used.set(`k${index}`, index);
  const startedAt = performance.now();
  for (let index = 0; index < 50_000; index += 1) used.get(index % 2 === 0 ? "k5000" : "k7000");
  // By a Map in the order of use it is 2 s and more.
  expect(performance.now() - startedAt).toBeLessThan(500);
});
