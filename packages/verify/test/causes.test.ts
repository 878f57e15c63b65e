import { describe, expect, it } from "vitest";
import { causesOf, reasonOf } from "../src/causes.ts";

const error = (name: string, more: object = {}): Error => Object.assign(new Error(name), { name }, more);

/** So many errors, of which the innermost has the code. */
const chain = (length: number): Error =>
  Array.from({ length: length - 1 }).reduce<Error>(
    (cause) => Object.assign(new Error("fetch failed"), { cause }),
    error("Innermost", { code: "ECONNREFUSED" }),
  );

describe("the reason of a failure", () => {
  it.each([
    [1, "ECONNREFUSED"],
    [8, "ECONNREFUSED"],
    [9, undefined],
  ])("is the code of the innermost of %d errors: %s", (length, reason) => {
    expect(reasonOf(chain(length))).toBe(reason);
  });

  it.each([
    [
      "of several errors, that of the first",
      { errors: [error("E", { code: "FIRST" }), error("E", { code: "SECOND" })] },
      "FIRST",
    ],
    ["without a code, the innermost name that tells something", { cause: error("HTTPParserError") }, "HTTPParserError"],
    ["none of the names that every error has", { cause: error("TypeError") }, undefined],
    ["no code that may be a text of the server", { cause: error("Error", { code: "two words" }) }, undefined],
    ["no code that is longer than 64 characters", { cause: error("Error", { code: "E".repeat(65) }) }, undefined],
    ["a code of 64 characters", { cause: error("Error", { code: "E".repeat(64) }) }, "E".repeat(64)],
    ["the one message that tells more than its name", { cause: new Error("bad port") }, "bad port"],
    [
      "the status of a proxy",
      { cause: new Error("Proxy response (407) !== 200 when HTTP Tunneling") },
      "the proxy answered with status 407",
    ],
  ])("is %s", (_what, more, reason) => {
    expect(reasonOf(Object.assign(new Error("fetch failed"), more))).toBe(reason);
  });

  it.each([undefined, null, "text", 7])("is none for %j", (thrown) => {
    expect([...causesOf(thrown)]).toEqual([]);
    expect(reasonOf(thrown)).toBeUndefined();
  });
});
