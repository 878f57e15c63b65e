import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { ConfigurationError, EncodingError } from "@signpost/core";
import { asConfigured, copiedBytes, given, isPlainObject } from "@signpost/core/adapter";
import { readClock } from "../../src/options/read-clock.ts";
import { isThenable, swallowRejection } from "../../src/thenable.ts";
import { thrownBy } from "../support/key-fixtures.ts";

// What callers give, and how it is recognized, copied and named.

test.each<[value: unknown, words: string]>([
  [null, "null"],
  [undefined, "undefined"],
  [true, "true"],
  [false, "false"],
  [0, "0"],
  [-1.5, "-1.5"],
  [Number.NaN, "NaN"],
  ["", "an empty string"],
  ["secret", "a string"],
  [[], "an array"],
  [["secret"], "an array"],
  [{}, "an object"],
  [new Date(0), "an object"],
  [() => "secret", "a function"],
  [Symbol("secret"), "a symbol"],
  [7n, "a bigint"],
])("%o is described as %s", (value, words) => {
  expect(given(value)).toBe(words);
});

describe("a plain object", () => {
  test.each<[what: string, value: unknown]>([
    ["a literal", {}],
    ["one without a prototype", Object.create(null)],
    ["one of another realm", runInNewContext("({})")],
    ["one of another realm without a prototype", runInNewContext("Object.create(null)")],
  ])("is %s", (_what, value) => {
    expect(isPlainObject(value)).toBe(true);
  });

  test.each<[what: string, value: unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["text", "{}"],
    ["a function", () => {}],
    ["an array", []],
    ["an array of another realm", runInNewContext("[]")],
    ["a Date", new Date()],
    ["a Date of another realm", runInNewContext("new Date()")],
    ["an instance of a class", new ConfigurationError("a", "b")],
    ["one whose prototype is an object", Object.create({})],
    ["one whose prototype has no prototype, and is not the root", Object.create(Object.create(null) as object)],
    ["one that inherits from a root", Object.create(Object.create({ isPrototypeOf: () => true }) as object)],
  ])("is not %s", (_what, value) => {
    expect(isPlainObject(value)).toBe(false);
  });
});

describe("a copy of bytes", () => {
  test("is a Uint8Array with its own memory, of a Buffer, a view and one of another realm", () => {
    const page = Uint8Array.of(1, 2, 3, 4);
    for (const bytes of [page.subarray(1, 3), Buffer.from([2, 3]), runInNewContext("Uint8Array.of(2, 3)")]) {
      const copy = copiedBytes(bytes);
      expect(copy).toEqual(Uint8Array.of(2, 3));
      expect(Object.getPrototypeOf(copy)).toBe(Uint8Array.prototype);
      (bytes as Uint8Array).fill(0);
      expect(copy).toEqual(Uint8Array.of(2, 3));
    }
  });

  test.each<[what: string, value: unknown]>([
    ["nothing", undefined],
    ["text", "ab"],
    ["an array", [1, 2]],
    ["other elements", Uint16Array.of(1, 2)],
    ["a view of another kind", new DataView(new ArrayBuffer(2))],
    ["a buffer", new ArrayBuffer(2)],
    ["an object with its prototype", Object.create(Uint8Array.prototype)],
  ])("is none of %s", (_what, value) => {
    expect(copiedBytes(value)).toBeUndefined();
  });

  test("is nothing of a buffer that was transferred away", () => {
    const bytes = Uint8Array.of(1, 2);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    expect(copiedBytes(bytes)?.length ?? 0).toBe(0);
  });
});

describe("the error of an option's value", () => {
  const encoding = (message: string): EncodingError => new EncodingError("invalid_jwk", message);
  const throwing = (error: unknown) => () => {
    throw error;
  };

  test.each([
    ["key: expected a JWK", "key: expected a JWK"],
    ["expected a JWK", "key: expected a JWK"],
    ["key: key: twice", "key: key: twice"],
    ["keys: expected a JWK", "key: keys: expected a JWK"],
  ])("%s becomes one of the configuration: %s", (message, expected) => {
    const cause = encoding(message);
    const error = thrownBy(() => asConfigured("key", throwing(cause)));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument: "key", message: expected, cause });
  });

  test("is thrown as it is if it is another one, and the value is returned if there is none", () => {
    const fault = new TypeError("a fault");
    expect(thrownBy(() => asConfigured("key", throwing(fault)))).toBe(fault);
    expect(asConfigured("key", () => 7)).toBe(7);
  });
});

describe("the option now", () => {
  test.each([0, -1, 1.5, 1_800_000_000_000])("may return %d", (time) => {
    expect(readClock(() => time)).toBe(time);
  });

  test.each<[now: unknown, words: string]>([
    [() => Number.NaN, "the result NaN"],
    [() => Number.POSITIVE_INFINITY, "the result Infinity"],
    [() => "0", "the result a string"],
    [async () => 0, "the result an object"],
    [() => 7n, "the result a bigint"],
    [() => undefined, "the result undefined"],
    [0, "0"],
    [undefined, "undefined"],
    [{}, "an object"],
  ])("is refused with its value: %o", (now, words) => {
    expect(thrownBy(() => readClock(now))).toMatchObject({
      name: "ConfigurationError",
      argument: "now",
      message: `now: expected a function that returns milliseconds since 1970, got ${words}`,
    });
  });
});

describe("a thenable", () => {
  const withThen = (object: object, then: unknown): object =>
    Reflect.defineProperty(object, ["th", "en"].join(""), { value: then }) ? object : {};
  const callback = (): void => {};

  test.each<[what: string, value: unknown, expected: boolean]>([
    ["a promise", Promise.resolve(), true],
    ["an object with then", withThen({}, callback), true],
    ["a function with then", withThen(() => {}, callback), true],
    ["a function without it", () => {}, false],
    ["an object without it", {}, false],
    ["an object whose then is no function", withThen({}, true), false],
    ["null", null, false],
    ["nothing", undefined, false],
    ["text", "then", false],
  ])("is judged: %s", (_what, value, expected) => {
    expect(isThenable(value)).toBe(expected);
  });

  test("that rejects and is not awaited ends nothing", async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on("unhandledRejection", note);
    swallowRejection(Promise.reject(new Error("swallowed")));
    for (let turn = 0; turn < 5; turn += 1) await new Promise((later) => setImmediate(later));
    process.off("unhandledRejection", note);
    expect(rejections).toEqual([]);
  });
});
