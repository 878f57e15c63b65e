import { describe, expect, test } from "vitest";
import { toJsonObject } from "../../src/signing/json.ts";
import { thrownBy } from "../support/key-fixtures.ts";

// Claims are copied as JSON. What JSON would drop or change is refused, with its place and without its value.

/** So many objects or arrays in each other, with the outermost. */
const nested = (depth: number, wrap: (inner: unknown) => unknown): unknown =>
  Array.from({ length: depth - 1 }).reduce<unknown>(wrap, {});

describe("a copy", () => {
  test("has the same members, and is not the same object", () => {
    const value = { a: [1, "b", null, true, { c: -0.5 }], d: { e: {} }, f: false, g: "" };
    const copy = toJsonObject("claims", value);
    expect(copy).toEqual(value);
    expect(copy).not.toBe(value);
    expect(copy["a"]).not.toBe(value.a);
    expect(copy["d"]).not.toBe(value.d);
  });

  test("has a member __proto__ like any other", () => {
    const value: unknown = JSON.parse('{"__proto__":{"admin":true},"a":1}');
    const copy = toJsonObject("claims", value);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"admin":true},"a":1}');
    expect(copy["admin"]).toBeUndefined();
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  test.each<[what: string, wrap: (inner: unknown) => unknown, most: number]>([
    ["objects", (inner) => ({ a: inner }), 65],
    ["objects and arrays by turns", (inner) => ({ a: [inner] }), 33],
  ])("has up to 64 levels below it, of %s", (_what, wrap, most) => {
    expect(() => toJsonObject("claims", nested(most, wrap))).not.toThrow();
    expect(thrownBy(() => toJsonObject("claims", nested(most + 1, wrap)))).toMatchObject({
      message: expect.stringMatching(/expected at most 64 levels, and no cycle$/),
    });
  });

  test("of a value that holds itself is refused", () => {
    const object: Record<string, unknown> = {};
    object["self"] = object;
    const list: unknown[] = [];
    list.push(list);
    for (const value of [object, { list }])
      expect(thrownBy(() => toJsonObject("claims", value))).toMatchObject({ name: "ConfigurationError" });
  });
});

describe("refused is", () => {
  test.each<[value: unknown, argument: string, words: string]>([
    [{ a: undefined }, "claims.a", "expected a JSON value, got undefined"],
    [{ a: [1, undefined] }, "claims.a[1]", "expected a JSON value, got undefined"],
    [{ a: Object.assign([], { length: 1 }) }, "claims.a[0]", "expected a JSON value, got undefined"],
    [{ a: { b: Number.NaN } }, "claims.a.b", "expected a finite number, got NaN"],
    [{ a: Number.NEGATIVE_INFINITY }, "claims.a", "expected a finite number, got -Infinity"],
    [{ a: new Date(0) }, "claims.a", "expected a JSON value, got an instance of a class"],
    [{ a: 7n }, "claims.a", "expected a JSON value, got bigint"],
    [{ a: () => "secret" }, "claims.a", "expected a JSON value, got function"],
    [{ a: Symbol("secret") }, "claims.a", "expected a JSON value, got symbol"],
    [{ toJSON: () => ({}) }, "claims.toJSON", "expected a JSON value, got function"],
    [[], "claims", "expected a plain object, got an array"],
    [null, "claims", "expected a plain object, got null"],
    ["secret", "claims", "expected a plain object, got a string"],
    [new Map(), "claims", "expected a plain object, got an object"],
  ])("%o", (value, argument, words) => {
    expect(thrownBy(() => toJsonObject("claims", value))).toMatchObject({ argument, message: `${argument}: ${words}` });
  });
});
