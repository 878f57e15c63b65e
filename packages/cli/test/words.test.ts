import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { asNumber } from "../src/program/flags.ts";
import { requireSound } from "../src/rotate/require-sound.ts";
import { tokensAlive } from "../src/rotate/emergency/impact.ts";
import { MARKS } from "../src/terminal/levels.ts";

// Small parts whose words people read.

test("each level has its mark and its color", () => {
  const marks = Object.entries(MARKS).map(([level, mark]) => [level, mark(createColors(true))]);
  expect(Object.fromEntries(marks)).toEqual({
    ok: "\u001B[32m✓\u001B[39m",
    note: "\u001B[36mi\u001B[39m",
    warning: "\u001B[33m!\u001B[39m",
    problem: "\u001B[31m✗\u001B[39m",
  });
});

test("an empty text is no number", () => {
  expect([asNumber("7"), asNumber("1.5"), asNumber("0")]).toEqual([7, 1.5, 0]);
  for (const text of ["", " ", "a"]) expect(() => asNumber(text)).toThrow(SyntaxError);
});

test.each([
  [1, undefined],
  [2, "There is 1 more: signpost rotate validate lists it"],
  [3, "There are 2 more: signpost rotate validate lists them"],
])("of %i mistakes in a schedule, the first is told", (count, hint) => {
  const mistakes = Array.from({ length: count }, (_, index) => ({ code: "a_code", message: `mistake ${index}` }));
  expect(() => requireSound({ mistakes: mistakes as never }, "a.json")).toThrow(
    expect.objectContaining({ exitCode: 2, code: "a_code", message: "a.json: mistake 0", hint, cause: mistakes[0] }),
  );
});

test("a schedule without a mistake is sound", () => {
  expect(() => requireSound({ mistakes: [] }, "a.json")).not.toThrow();
});

test.each([
  [5, undefined, "The key has signed no token"],
  [15, undefined, "The key has signed no token"],
  [25, 125, "Every token that the key has signed until now is refused at once"],
  [35, 130, "Every token that the key has signed is refused at once"],
  [1000, undefined, "Its tokens have expired. It no longer verifies an id_token_hint"],
  [2000, undefined, "Its tokens have expired, and nothing depends on it"],
])("at %i, the last token of a key that is withdrawn expires at %s", (at, until, words) => {
  const key = { announcedFrom: 10, activeFrom: 20, retiringFrom: 30, withdrawnFrom: 900, droppedFrom: 1500 };
  const alive = tokensAlive(key as never, { tokenMs: 100 } as never, at);
  expect(alive.until).toBe(until);
  expect(alive.words).toContain(words);
  expect(alive.words.includes("expires at")).toBe(until !== undefined);
});
