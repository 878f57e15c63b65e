import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createFileAccess } from "@signpost/core/adapter";

test("work with the same key is done once, and only two keys at a time, in order of arrival", async () => {
  const access = createFileAccess<string>();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (key: string): Promise<string> =>
    access(key, async () => {
      begun.push(key);
      await new Promise<void>((resolve) => ends.set(key, resolve));
      return `${key} is done`;
    });
  const all = ["a", "a", "b", "c", "d", "c"].map(start);
  await nextTurn();
  expect(begun).toEqual(["a", "b"]);
  ends.get("b")?.();
  await nextTurn();
  expect(begun).toEqual(["a", "b", "c"]);
  ends.get("c")?.();
  await nextTurn();
  for (const key of ["a", "d"]) ends.get(key)?.();
  expect(await Promise.all(all)).toEqual(["a", "a", "b", "c", "d", "c"].map((key) => `${key} is done`));
  void start("a");
  await nextTurn();
  expect(begun).toEqual(["a", "b", "c", "d", "a"]);
});

test("work that fails gives its turn back, and is done again", async () => {
  const access = createFileAccess<number>();
  let calls = 0;
  const fail = (): Promise<number> => access("key", () => Promise.reject(new Error(String((calls += 1)))));
  for (const message of ["1", "2", "3"]) await expect(fail()).rejects.toThrow(message);
  await expect(access("key", () => Promise.resolve(4))).resolves.toBe(4);
});
