import { expect, test } from "vitest";
import { readEntityTag } from "../../src/check/entity-tag.ts";
import { repeatedNames } from "../../src/check/json-names.ts";
import { isForSignatures, readKey, valueOf } from "../../src/check/key-facts.ts";
import { RFC_KEY } from "../support/key-folder.ts";

test.each([
  ['"abc"', "strong"],
  ['""', "strong"],
  ['"!#~\u0080\u00FF"', "strong"],
  ['W/"abc"', "weak"],
  ['w/"abc"', "malformed"],
  ["abc", "malformed"],
  ["", "malformed"],
  ['"a"b"', "malformed"],
  ['"a b"', "malformed"],
  ['"a\u007F"', "malformed"],
  [' "a"', "malformed"],
  ['"a" ', "malformed"],
  ['W/W/"a"', "malformed"],
])("the entity tag %s is %s", (value, kind) => {
  expect(readEntityTag(value)).toEqual({ value, kind });
});

test("an entity tag that was not sent is none", () => {
  expect(readEntityTag(undefined)).toBeUndefined();
});

test.each<[json: string, names: readonly string[]]>([
  ['{"a":1,"b":2}', []],
  ['{"a":1,"a":2}', ["a"]],
  ['{"a":1,"a":2,"b":3,"b":4,"a":5}', ["a", "b"]],
  ['{"a":{"a":1},"b":{"a":1}}', []],
  ['{"a":{"b":1,"b":2}}', ["b"]],
  ['{"a":{"b":1},"a":2}', ["a"]],
  ['{"a":["b","b"],"c":"a"}', []],
  ['[{"a":1},{"a":2}]', []],
  ['[["a","a"],{"a":1,"a":2}]', ["a"]],
  ['{"a":[{"b":1}],"a":1}', ["a"]],
  ['{"a":"a","b":"a"}', []],
  [String.raw`{"a":1,"\u0061":2}`, ["a"]],
  [String.raw`{"a\"":1,"a":2}`, []],
  ['{"a":"{,\\"a\\":","b":1}', []],
  ['{ "a" : 1 ,\n "a" : 2 }', ["a"]],
  ['"a"', []],
])("%s has the names twice: %j", (json, names) => {
  expect(repeatedNames(json)).toEqual(names);
});

test.each<[entry: Record<string, unknown>, secrets: readonly string[]]>([
  [{ kty: "EC", d: "a", p: "b" }, ["d"]],
  [{ kty: "RSA", d: "a", oth: [], k: "b" }, ["d", "oth"]],
  [{ kty: "OKP", d: "" }, ["d"]],
  [{ kty: "oct", k: "a" }, ["k"]],
  [{ kty: "AKP", priv: "a" }, ["priv"]],
  [{ kty: "ec", d: "a", k: "b", priv: "c" }, ["d", "k", "priv"]],
  [{ d: "a" }, ["d"]],
  [{ kty: "EC", d: null }, []],
  [{ kty: "EC" }, []],
])("an entry %j has the secrets %j", (entry, secrets) => {
  expect(readKey(entry, 0).secrets).toEqual(secrets);
});

test("an entry is called by its kid, or else by its position", () => {
  expect([readKey({ kid: "a" }, 2), readKey({ kid: 7 }, 2), readKey({}, 0)].map(({ label }) => label)).toEqual([
    "key a",
    "key 3",
    "key 1",
  ]);
});

test("a member that is null counts as absent, and is told", () => {
  const { members, nulls, kid, alg } = readKey({ kid: null, alg: null, kty: "EC" }, 0);
  expect([members, nulls, kid, alg]).toEqual([{ kty: "EC" }, ["kid", "alg"], undefined, undefined]);
});

const { d: _private, ...PUBLIC } = RFC_KEY;
test.each<[entry: Record<string, unknown>, isKnown: boolean, isRead: boolean, fault: string | undefined]>([
  [{ ...PUBLIC }, true, true, undefined],
  [{ ...RFC_KEY }, true, true, undefined],
  [{ ...PUBLIC, x: "AAAA" }, true, false, "malformed"],
  [{ ...PUBLIC, crv: "secp256k1" }, false, false, undefined],
  [{ ...PUBLIC, crv: 7 }, true, false, "malformed"],
  [{ kty: "OKP", crv: "Ed25519" }, true, false, "malformed"],
  [{ kty: "oct", k: "a" }, false, false, undefined],
  [{ kty: "RSA", n: "AQAB", e: "AQAB" }, true, false, "weak"],
  [{}, false, false, undefined],
])("of an entry %j the type is known: %s, the key is read: %s, with the fault %s", (entry, isKnown, isRead, fault) => {
  const facts = readKey(entry, 0);
  expect([facts.isKnown, facts.jwk !== undefined, facts.fault?.kind]).toEqual([isKnown, isRead, fault]);
});

test("two entries are the same key if its values are the same", () => {
  const value = valueOf(PUBLIC);
  expect(valueOf({ ...PUBLIC, kid: "a", use: "sig", alg: "ES256" })).toBe(value);
  for (const name of ["kty", "crv", "x", "y"]) expect(valueOf({ ...PUBLIC, [name]: "other" })).not.toBe(value);
  for (const name of ["n", "e", "pub"]) expect(valueOf({ ...PUBLIC, [name]: "other" })).not.toBe(value);
  expect(valueOf({ n: ["a"] })).toBe(valueOf({ n: { b: 1 } }));
});

test.each<[members: Record<string, unknown>, isForThem: boolean]>([
  [{}, true],
  [{ use: "sig" }, true],
  [{ use: "enc" }, false],
  [{ use: "other" }, false],
  [{ use: 7 }, false],
  [{ key_ops: ["verify"] }, true],
  [{ key_ops: ["sign"] }, false],
  [{ key_ops: [] }, false],
  [{ key_ops: "sign" }, true],
  [{ use: "sig", key_ops: ["encrypt"] }, false],
  [{ alg: "ES256" }, true],
  [{ alg: "ES384" }, false],
  [{ alg: "ECDH-ES" }, false],
  [{ alg: "unknown" }, true],
  [{ alg: 7 }, true],
  [{ kty: "OKP", crv: "Ed25519" }, true],
  [{ kty: "OKP", crv: "Ed448" }, true],
  [{ kty: "OKP", crv: "X25519" }, false],
  [{ kty: "OKP", crv: "X448" }, false],
  [{ crv: "X25519" }, true],
])("a P-256 key with %j may verify signatures: %s", (members, isForThem) => {
  expect(isForSignatures(readKey({ ...PUBLIC, ...members }, 0))).toBe(isForThem);
});
