import { endianness } from "node:os";
import { describe, expect, test } from "vitest";
import type { Attribute, Binding, Handle } from "../src/cryptoki/binding.ts";
import { CryptokiError } from "../src/cryptoki/call.ts";
import {
  classTemplate,
  describeObject,
  findObjects,
  findOptional,
  readAttribute,
  readId,
  readLabel,
  readOptional,
  readUlong,
  type CryptokiSession,
  type Refusals,
} from "../src/cryptoki/objects.ts";

const CKA_LABEL = 3;
const CKA_ID = 0x102;
const OBJECT = Buffer.from("object");

/** As pkcs11js fails. */
const ckr = (code: number): Error => Object.assign(new Error("CKR"), { code });
const fails = (code: number) => (): never => {
  throw ckr(code);
};

/** A module with some objects, which writes down what it is asked for. */
function moduleWith(count: number, changes: Partial<Binding> = {}): { session: CryptokiSession; calls: string[] } {
  const calls: string[] = [];
  let left = Array.from({ length: count }, (_, index) => Buffer.from([index]));
  const binding: Partial<Binding> = {
    C_FindObjectsInit: () => void calls.push("init"),
    C_FindObjects: (_session, most) => {
      calls.push(`find ${most}`);
      const batch = left.slice(0, most);
      left = left.slice(most);
      return batch;
    },
    C_FindObjectsFinal: () => void calls.push("final"),
    C_GetSessionInfo: () => ({ state: 1 }),
    ...changes,
  };
  return { session: { binding: binding as Binding, handle: Buffer.from("session") }, calls };
}

/** A module whose object has these attributes. */
function objectWith(attributes: Readonly<Record<number, Buffer | number>>, alive = true): CryptokiSession {
  const C_GetAttributeValue = (
    _session: Handle,
    _object: Handle,
    template: readonly Attribute[],
  ): { value: Buffer }[] => {
    const value = attributes[template[0]?.type ?? -1];
    if (typeof value === "number") throw ckr(value);
    return value === undefined ? [] : [{ value }];
  };
  return moduleWith(0, { C_GetAttributeValue, ...(!alive && { C_GetSessionInfo: fails(0xb3) }) }).session;
}

describe("a search for objects", () => {
  test.each<[count: number, limit: number, found: number, calls: readonly string[]]>([
    [0, 5, 0, ["init", "find 5", "final"]],
    [3, 5, 3, ["init", "find 5", "find 2", "final"]],
    [5, 5, 5, ["init", "find 5", "final"]],
    [200, 130, 130, ["init", "find 64", "find 64", "find 2", "final"]],
    [3, 0, 0, ["init", "final"]],
  ])("of %i with a limit of %i finds %i", (count, limit, found, expected) => {
    const { session, calls } = moduleWith(count);
    expect(findObjects(session, [], limit)).toHaveLength(found);
    expect(calls).toEqual(expected);
  });

  test("is ended when it fails, and also where its end fails", () => {
    const { session, calls } = moduleWith(1, { C_FindObjects: fails(0x30) });
    expect(() => findObjects(session, [], 5)).toThrow(expect.objectContaining({ call: "C_FindObjects", code: 0x30 }));
    expect(calls).toEqual(["init", "final"]);
    const endless = moduleWith(1, { C_FindObjectsFinal: fails(0x30) }).session;
    expect(findObjects(endless, [], 5)).toHaveLength(1);
  });

  test("that does not begin is not ended", () => {
    const { session, calls } = moduleWith(1, { C_FindObjectsInit: fails(0x90) });
    expect(() => findObjects(session, [], 5)).toThrow(
      expect.objectContaining({ call: "C_FindObjectsInit", code: 0x90 }),
    );
    expect(calls).toEqual([]);
  });
});

describe("an attribute", () => {
  test.each<[what: string, answer: Buffer | number | undefined, value: Buffer | undefined]>([
    ["that the object has", Buffer.from("op"), Buffer.from("op")],
    ["that the module does not give", undefined, undefined],
    ["that is empty", Buffer.alloc(0), undefined],
    ["that the object does not have", 0x12, undefined],
    ["that is sensitive", 0x11, undefined],
  ])("%s", (_what, answer, value) => {
    const session = objectWith(answer === undefined ? {} : { [CKA_LABEL]: answer });
    expect(readAttribute(session, OBJECT, CKA_LABEL)).toEqual(value);
  });

  test("is a copy, because the module may use its memory again", () => {
    const memory = Buffer.from("op");
    const value = readAttribute(objectWith({ [CKA_LABEL]: memory }), OBJECT, CKA_LABEL);
    memory.fill(0);
    expect(value).toEqual(Buffer.from("op"));
  });

  test("that cannot be read says which call failed", () => {
    expect(() => readAttribute(objectWith({ [CKA_LABEL]: 0x30 }), OBJECT, CKA_LABEL)).toThrow(
      expect.objectContaining({ call: "C_GetAttributeValue", code: 0x30 }),
    );
  });
});

describe("what is optional", () => {
  test("is left out where the module refuses it, and the refusal is noted", () => {
    const refusals: Refusals = [];
    expect(readOptional(objectWith({ [CKA_ID]: 0x54 }), OBJECT, CKA_ID, refusals)).toBeUndefined();
    const { session } = moduleWith(1, { C_FindObjectsInit: fails(0x13) });
    expect(findOptional(session, [], 5, refusals)).toEqual([]);
    expect(refusals).toMatchObject([
      { call: "C_GetAttributeValue", code: 0x54 },
      { call: "C_FindObjectsInit", code: 0x13 },
    ]);
    expect(readOptional(objectWith({ [CKA_ID]: 0x54 }), OBJECT, CKA_ID)).toBeUndefined();
  });

  test("is there where the module gives it", () => {
    const refusals: Refusals = [];
    expect(readOptional(objectWith({ [CKA_ID]: Buffer.from("k") }), OBJECT, CKA_ID, refusals)).toEqual(
      Buffer.from("k"),
    );
    expect(findOptional(moduleWith(2).session, [], 5, refusals)).toHaveLength(2);
    expect(refusals).toEqual([]);
  });

  test("fails if the session is lost", () => {
    const refusals: Refusals = [];
    expect(() => readOptional(objectWith({ [CKA_ID]: 0x54 }, false), OBJECT, CKA_ID, refusals)).toThrow(CryptokiError);
    expect(refusals).toEqual([]);
  });

  test("notes no failure that is not the module's", () => {
    const refusals: Refusals = [];
    const { session } = moduleWith(1, {
      C_FindObjectsInit: () => {
        throw new TypeError("expected a handle");
      },
    });
    expect(findOptional(session, [], 5, refusals)).toEqual([]);
    expect(refusals).toEqual([]);
  });
});

describe("a CK_ULONG", () => {
  const inOrder = (bigEndianHex: string): Buffer => {
    const bytes = Buffer.from(bigEndianHex, "hex");
    return endianness() === "LE" ? Buffer.from(bytes.toReversed()) : bytes;
  };
  test.each<[what: string, bytes: Buffer | undefined, number: bigint | undefined]>([
    ["of 64 bits", inOrder("0000000000000102"), 0x102n],
    ["of 64 bits, above 2^53", inOrder("ffffffffffffff01"), 0xffff_ffff_ffff_ff01n],
    ["of 32 bits", inOrder("80000102"), 0x8000_0102n],
    ["of 16 bits, which no machine has", Buffer.alloc(2), undefined],
    ["of no bits", Buffer.alloc(0), undefined],
    ["that is not there", undefined, undefined],
  ])("%s", (_what, bytes, number) => {
    expect(readUlong(bytes)).toBe(number);
  });
});

test("label and id describe an object, also where it has none", () => {
  const named = objectWith({ [CKA_LABEL]: Buffer.from("sig-2026"), [CKA_ID]: Buffer.from([1, 0xab]) });
  expect(describeObject(named, OBJECT)).toBe('"sig-2026" (id 01ab)');
  expect([readLabel(named, OBJECT), readId(named, OBJECT)]).toEqual([
    new TextEncoder().encode("sig-2026"),
    new Uint8Array([1, 0xab]),
  ]);
  expect(describeObject(objectWith({}), OBJECT)).toBe('"" (id none)');
  const foreign = objectWith({ [CKA_LABEL]: Buffer.from([0x61, 0x20, 0xff, 0x0a]) });
  expect(describeObject(foreign, OBJECT)).toBe('"a %FF%0A" (not UTF-8) (id none)');
});

test("a search is for one class, with a CKA_ID where it is given", () => {
  expect(classTemplate(3)).toEqual([{ type: 0, value: 3 }]);
  expect(classTemplate(2, new Uint8Array([7]))).toEqual([
    { type: 0, value: 2 },
    { type: 0x102, value: Buffer.from([7]) },
  ]);
});
