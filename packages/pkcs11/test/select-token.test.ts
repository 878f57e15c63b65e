import { describe, expect, test } from "vitest";
import type { TokenDescription, TokenList } from "../src/cryptoki/descriptions.ts";
import { findAgain, missingToken, selectAgain, selectToken, type TokenSelector } from "../src/request/select-token.ts";

const token = (member: Partial<TokenDescription>): TokenDescription => ({
  slotId: "1",
  slotDescription: "",
  slotManufacturer: "",
  label: "",
  serial: "",
  manufacturer: "",
  model: "",
  initialized: false,
  maxSessions: 0,
  ...member,
});
const listOf = (...tokens: TokenDescription[]): TokenList => ({
  library: { manufacturer: "", description: "", version: "1.0" },
  tokens,
  unreadable: [],
});
const blank = token({ slotId: "9" });
const unflagged = token({ slotId: "1", label: "op", serial: "a1" });
const flagged = token({ slotId: "2", label: "other", serial: "b2", initialized: true });

const thrownBy = (select: () => unknown): unknown => {
  try {
    return select();
  } catch (error) {
    return error;
  }
};

describe("a token without CKF_TOKEN_INITIALIZED", () => {
  test.each([
    ["its label", { token: "op" }],
    ["its serial", { serial: "a1" }],
    ["its slot", { slotId: "1" }],
  ])("is selected by %s", (_what, selector) => {
    expect(selectToken(listOf(unflagged, flagged, blank), selector)).toBe(unflagged);
  });

  test("is selected as the only one that has a label", () => {
    expect(selectToken(listOf(blank, unflagged), {})).toBe(unflagged);
  });

  test("is selected by its serial where it has no label, and no token has the flag", () => {
    const serialOnly = token({ serial: "c3" });
    expect(selectToken(listOf(blank, serialOnly), { serial: "c3" })).toBe(serialOnly);
    expect(() => selectToken(listOf(flagged, serialOnly), { serial: "c3" })).toThrow(/no token matches/);
    expect(() => selectToken(listOf(blank, serialOnly), {})).toThrow(/no initialized token/);
  });

  test("gives way to one with the flag", () => {
    expect(selectToken(listOf(unflagged, flagged), {})).toBe(flagged);
  });

  test("is found again", () => {
    const moved = { ...unflagged, slotId: "7" };
    expect(findAgain(listOf(blank, moved), unflagged)).toBe(moved);
    expect(findAgain(listOf(blank, moved), { ...unflagged, initialized: true })).toBe(moved);
  });
});

describe("a token that was there before", () => {
  const moved = { ...flagged, slotId: "7" };
  test("is the same one in another slot", () => {
    expect(selectAgain(listOf(unflagged, moved, blank), flagged)).toBe(moved);
  });
  test.each([
    [
      "is missing",
      listOf(unflagged, blank),
      /^the token "other" \(serial b2\) is not found again; the module has "op" \(serial a1, slot 1\)$/,
    ],
    [
      "has a twin, and neither has its slot",
      listOf(moved, { ...moved, slotId: "8" }),
      /slot 7\), "other" \(serial b2, slot 8\)$/,
    ],
    ["is missing as all are", listOf(), /the module has no initialized token\. See SOME_CONF$/],
  ])("is unavailable where it %s: it may come back", (_what, tokens, message) => {
    const error = thrownBy(() => selectAgain(tokens, flagged, "See SOME_CONF"));
    expect(error).toMatchObject({ code: "unavailable", transient: true, message: expect.stringMatching(message) });
    expect(missingToken(tokens, flagged, "See SOME_CONF")).toEqual(error);
  });
});

test("a blank slot is never selected, by its number either", () => {
  expect(() => selectToken(listOf(blank), {})).toThrow(/no initialized token/);
  expect(() => selectToken(listOf(blank, flagged), { slotId: "9" })).toThrow(/no token matches/);
});

describe("a slot that cannot be read now", () => {
  const list = (...tokens: TokenDescription[]): TokenList => ({
    ...listOf(...tokens),
    unreadable: [{ slotId: "5", code: 0x30 }],
  });
  test("may hold the token that is wanted", () => {
    expect(thrownBy(() => selectToken(list(flagged), { token: "op" }))).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(
        /has "other".*; slot 5 cannot be read \(C_GetTokenInfo: CKR_DEVICE_ERROR \(0x30\)\)/,
      ) as string,
    });
    expect(thrownBy(() => selectToken(list(), {}))).toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/^the module shows no token; slot 5 cannot be read/) as string,
    });
  });

  test("is none that has another number, and takes no place from a token that matches", () => {
    expect(thrownBy(() => selectToken(list(flagged), { slotId: "6" }))).toMatchObject({ code: "key_not_found" });
    expect(selectToken(list(flagged), {})).toBe(flagged);
  });
});

describe("each attribute of a selector", () => {
  const described = token({
    slotId: "4",
    slotDescription: "reader 4",
    slotManufacturer: "slot maker",
    label: "op",
    serial: "s1",
    manufacturer: "maker",
    model: "m1",
    initialized: true,
  });
  const list: TokenList = {
    library: { manufacturer: "library maker", description: "a library", version: "3.12" },
    tokens: [described],
    unreadable: [],
  };

  test.each<[name: keyof TokenSelector, matching: readonly string[], others: readonly string[]]>([
    ["token", ["op", "op  ", "op\0\0"], ["OP", " op", "o", ""]],
    ["serial", ["s1", "s1 "], ["s2"]],
    ["manufacturer", ["maker", "maker "], ["other"]],
    ["model", ["m1", "m1 "], ["m2"]],
    ["slotId", ["4"], ["5", "04"]],
    ["slotDescription", ["reader 4", "reader 4 "], ["reader"]],
    ["slotManufacturer", ["slot maker"], ["maker"]],
    ["libraryDescription", ["a library", "a library "], ["another"]],
    ["libraryManufacturer", ["library maker"], ["maker"]],
    ["libraryVersion", ["3", "3.12"], ["3.1", "12", "4", "3.12.0"]],
  ])("%s must match: %j, not %j", (name, matching, others) => {
    for (const value of matching) expect(selectToken(list, { [name]: value })).toBe(described);
    for (const value of others) {
      expect(thrownBy(() => selectToken(list, { [name]: value }))).toMatchObject({
        code: "key_not_found",
        message: `no token matches ${name} ${JSON.stringify(value)}; the module has "op" (serial s1, slot 4)`,
      });
    }
  });

  test("must match together with the others", () => {
    expect(selectToken(list, { token: "op", serial: "s1", model: "m1" })).toBe(described);
    expect(thrownBy(() => selectToken(list, { token: "op", serial: "s2" }))).toMatchObject({
      message: 'no token matches token "op", serial "s2"; the module has "op" (serial s1, slot 4)',
    });
  });

  test("must not match more than one token", () => {
    const twin = { ...described, slotId: "5", serial: "s2" };
    const both = { ...list, tokens: [described, twin] };
    expect(thrownBy(() => selectToken(both, { token: "op" }))).toMatchObject({
      code: "ambiguous_key",
      message: 'more than one token matches token "op": "op" (serial s1, slot 4), "op" (serial s2, slot 5)',
    });
    expect(thrownBy(() => selectToken(both, {}))).toMatchObject({
      message: expect.stringMatching(/^more than one token matches \(any token\): /) as string,
    });
    expect(selectToken(both, { serial: "s2" })).toBe(twin);
  });

  test("of the library decides about a slot that cannot be read too", () => {
    const unreadable = { ...list, unreadable: [{ slotId: "5", code: 0x30 }] };
    expect(thrownBy(() => selectToken(unreadable, { token: "x" }))).toMatchObject({ code: "unavailable" });
    const selector = { token: "x", libraryDescription: "another" };
    expect(thrownBy(() => selectToken(unreadable, selector))).toMatchObject({ code: "key_not_found" });
  });
});

describe("a module that shows no token", () => {
  test("is unavailable, and says where to look", () => {
    expect(thrownBy(() => selectToken(listOf(), {}, "See SOME_CONF"))).toMatchObject({
      code: "unavailable",
      message: "the module shows no token at all. See SOME_CONF",
    });
    expect(thrownBy(() => selectToken(listOf(), {}))).toMatchObject({ message: "the module shows no token at all" });
  });

  test("but blank slots has no such key, and says where to look", () => {
    expect(thrownBy(() => selectToken(listOf(blank), {}, "See SOME_CONF"))).toMatchObject({
      code: "key_not_found",
      message: "no token matches (any token); the module has no initialized token. See SOME_CONF",
    });
    expect(thrownBy(() => selectToken(listOf(flagged), { token: "op" }, "See SOME_CONF"))).toMatchObject({
      message: 'no token matches token "op"; the module has "other" (serial b2, slot 2)',
    });
  });
});
