import { describe, expect, test } from "vitest";
import type { TokenDescription, TokenList } from "../src/cryptoki/descriptions.ts";
import { findAgain, missingToken, selectAgain, selectToken } from "../src/request/select-token.ts";

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
