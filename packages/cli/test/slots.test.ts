import { describe, expect, test } from "vitest";
import { findSlots, trimPadding, type SlotCalls, type TokenInfo } from "../src/backends/pkcs11/slots.ts";
import type { TokenUri } from "../src/backends/pkcs11/uri.ts";

const INITIALIZED = 0x400;
const TOKEN: TokenInfo = {
  label: "op".padEnd(32),
  model: "HSM 3000".padEnd(16),
  manufacturerID: "Example Inc.".padEnd(32),
  serialNumber: "0007".padEnd(16),
  flags: INITIALIZED | 1,
};
const LIBRARY = {
  manufacturerID: "Library Ltd.".padEnd(32),
  libraryDescription: "PKCS 11 module".padEnd(32),
  libraryVersion: { major: 2, minor: 7 },
};

function slot(number: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(number));
  return bytes;
}

/** A module with these tokens, in the slots 1, 2 and so on. */
function moduleWith(tokens: readonly (TokenInfo | Error)[], more: Partial<SlotCalls> = {}): SlotCalls {
  return {
    C_GetInfo: () => LIBRARY,
    C_GetSlotList: (present) => (present ? tokens.map((_token, index) => slot(index + 1)) : []),
    C_GetSlotInfo: (of) => ({ slotDescription: `Slot ${of[0]}`.padEnd(64), manufacturerID: "Slots & Co".padEnd(32) }),
    C_GetTokenInfo: (of) => {
      const token = tokens[(of[0] ?? 0) - 1] ?? new Error("no such slot");
      if (token instanceof Error) throw token;
      return token;
    },
    ...more,
  };
}

/** The numbers of the slots that match. */
function found(module: SlotCalls, uri: Partial<TokenUri>): readonly (number | undefined)[] {
  return findSlots(module, uri as TokenUri).matching.map(([of]) => of[0]);
}

const other = (change: Partial<TokenInfo>): TokenInfo => ({ ...TOKEN, ...change });

describe("a token is found", () => {
  test.each<[what: string, uri: Partial<TokenUri>, change: Partial<TokenInfo>]>([
    ["label", { token: "op" }, { label: "Op" }],
    ["serial number", { serial: "0007" }, { serialNumber: "007" }],
    ["manufacturer", { manufacturer: "Example Inc." }, { manufacturerID: "Example" }],
    ["model", { model: "HSM 3000" }, { model: "HSM 30000" }],
  ])("by its %s alone, without its padding", (_what, uri, change) => {
    expect(found(moduleWith([other(change), TOKEN]), uri)).toEqual([2]);
    expect(found(moduleWith([TOKEN, other(change)]), uri)).toEqual([1]);
  });

  test("with all that the URI says, and not with some of it", () => {
    const all = { token: "op", serial: "0007", manufacturer: "Example Inc.", model: "HSM 3000", slotId: "1" };
    expect(found(moduleWith([TOKEN]), all)).toEqual([1]);
    for (const name of Object.keys(all))
      expect([name, found(moduleWith([TOKEN]), { ...all, [name]: "2" })]).toEqual([name, []]);
  });

  test("by the number of its slot, with 8 bytes or 4", () => {
    expect(found(moduleWith([TOKEN, TOKEN]), { slotId: "2" })).toEqual([2]);
    const short = { C_GetSlotList: () => [Buffer.of(1, 0, 0, 0), Buffer.of(2, 0, 0, 0)] };
    expect(found(moduleWith([TOKEN, TOKEN], short), { slotId: "2" })).toEqual([2]);
    const wide = { C_GetSlotList: () => [Buffer.of(1, 0, 0, 0, 1, 0, 0, 0)] };
    expect(found(moduleWith([TOKEN], wide), { slotId: "4294967297" })).toEqual([1]);
  });

  test("by what its slot says", () => {
    const module = moduleWith([TOKEN, TOKEN]);
    expect(found(module, { slotDescription: "Slot 2" })).toEqual([2]);
    expect(found(module, { slotManufacturer: "Slots & Co" })).toEqual([1, 2]);
    expect(found(module, { slotManufacturer: "Slots" })).toEqual([]);
    expect(found(module, { slotDescription: "Slot 2", slotManufacturer: "Slots" })).toEqual([]);
    const silent = moduleWith([TOKEN], {
      C_GetSlotInfo: () => {
        throw new Error("CKR_GENERAL_ERROR");
      },
    });
    expect(found(silent, { slotManufacturer: "Slots & Co" })).toEqual([]);
    expect(found(silent, { token: "op" })).toEqual([1]);
  });

  test.each<[uri: Partial<TokenUri>, isFound: boolean]>([
    [{ libraryDescription: "PKCS 11 module" }, true],
    [{ libraryDescription: "PKCS 11" }, false],
    [{ libraryManufacturer: "Library Ltd." }, true],
    [{ libraryManufacturer: "Library" }, false],
    [{ libraryVersion: "2" }, true],
    [{ libraryVersion: "2.7" }, true],
    [{ libraryVersion: "2.8" }, false],
    [{ libraryVersion: "7" }, false],
    [{ libraryDescription: "PKCS 11 module", libraryVersion: "3" }, false],
  ])("in the library of the URI: %o", (uri, isFound) => {
    expect(found(moduleWith([TOKEN]), uri)).toEqual(isFound ? [1] : []);
  });

  test("in no library that does not say what it is, if the URI asks for one", () => {
    const silent = moduleWith([TOKEN], {
      C_GetInfo: () => {
        throw new Error("CKR_GENERAL_ERROR");
      },
    });
    expect(found(silent, { libraryVersion: "2" })).toEqual([]);
    expect(found(silent, {})).toEqual([1]);
  });
});

describe("a blank token", () => {
  const blank = other({ label: " ".repeat(32), serialNumber: "".padEnd(16), flags: 1 });

  test("is none if another one is initialized", () => {
    expect(found(moduleWith([blank, TOKEN, other({ flags: 1 })]), {})).toEqual([2]);
  });

  test("is none if no module sets the flag, unless the URI has its serial number", () => {
    const unflagged = other({ flags: 1 });
    expect(found(moduleWith([blank, unflagged]), {})).toEqual([2]);
    expect(found(moduleWith([other({ label: "\0".repeat(32), flags: 1 })]), {})).toEqual([]);
    expect(found(moduleWith([other({ label: "", flags: 1 })]), { serial: "0007" })).toEqual([1]);
    expect(found(moduleWith([other({ label: "", flags: 1 })]), { model: "HSM 3000" })).toEqual([]);
  });
});

test("slots that cannot be read are told, and hide no other", () => {
  const module = moduleWith([new Error("CKR_TOKEN_NOT_RECOGNIZED"), TOKEN]);
  const { matching, unreadable } = findSlots(module, { token: "op" } as TokenUri);
  expect(matching).toEqual([[slot(2), TOKEN]]);
  expect(unreadable).toEqual(["slot 1 cannot be read (CKR_TOKEN_NOT_RECOGNIZED)"]);
  const silent = moduleWith([TOKEN], {
    C_GetTokenInfo: () => {
      // As a binding may do it.
      throw Object.assign(Object.create(null) as Error, { code: 5 });
    },
  });
  expect(findSlots(silent, {} as TokenUri)).toEqual({ matching: [], unreadable: ["slot 1 cannot be read (no code)"] });
});

test.each([
  ["op   ", "op"],
  ["op\0\0", "op"],
  ["op \0 ", "op"],
  [" op", " op"],
  ["o p", "o p"],
  ["op\t", "op\t"],
  ["", ""],
])("the padding of %j is cut off", (text, trimmed) => {
  expect(trimPadding(text)).toBe(trimmed);
});
