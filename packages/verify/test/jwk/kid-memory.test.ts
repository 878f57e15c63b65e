import { describe, expect, it } from "vitest";
import { createKidMemory, REMEMBERED_KIDS } from "../../src/jwk/kid-memory.ts";
import { parseJwk } from "../../src/jwk/parse-jwk.ts";
import type { VerificationKey } from "../../src/jwk/parse-jwk.ts";
import { testKey } from "../support/keys.ts";

// A kid names one key of its type for good.

function made(kid: string, alg: "ES256" | "RS256" | "PS256" | "EdDSA" = "ES256"): VerificationKey {
  const key = parseJwk(testKey(kid, alg).jwk);
  if ("reason" in key) throw new Error(key.detail);
  return key;
}

/** The same key in a set that was fetched again. */
function again(key: VerificationKey): VerificationKey {
  const { kid, alg, publicJwk } = key;
  const parsed = parseJwk({ ...publicJwk, kid, alg });
  if ("reason" in parsed) throw new Error(parsed.detail);
  return parsed;
}

const REBOUND = { name: "KeySetError", code: "kid_rebound" };

describe("what a kid named", () => {
  it("stays the same key, even in another set, and no other one is accepted", () => {
    const kids = createKidMemory(10).of("");
    const [first, second] = [made("a"), made("a")];
    for (const key of [first, again(first)]) expect(kids.refusalOf(key, [key])).toBeUndefined();
    expect(kids.refusalOf(second, [second])).toMatchObject(REBOUND);
    // The refusal changes nothing.
    expect(kids.refusalOf(again(first), [again(first)])).toBeUndefined();
  });

  it("may be a key of each type (RFC 7517 section 4.5)", () => {
    const kids = createKidMemory(10).of("");
    const keys = [made("a"), made("a", "RS256"), made("a", "EdDSA")];
    for (const key of keys) expect(kids.refusalOf(key, keys)).toBeUndefined();
    for (const key of keys) expect(kids.refusalOf(again(key), [key])).toBeUndefined();
    const other = made("a", "RS256");
    expect(kids.refusalOf(other, [other])).toMatchObject(REBOUND);
  });

  it("does not depend on a forged alg if two keys of one type shared the kid", () => {
    const kids = createKidMemory(10).of("");
    const [right, decoy] = [made("a", "RS256"), made("a", "PS256")];
    expect(kids.refusalOf(decoy, [right, decoy])).toBeUndefined();
    expect(kids.refusalOf(right, [right, decoy])).toBeUndefined();
    const late = made("a", "PS256");
    expect(kids.refusalOf(late, [right, late])).toMatchObject(REBOUND);
  });

  it("may be up to eight keys of one type that shared the kid at its first use", () => {
    const kids = createKidMemory(10).of("");
    const keys = Array.from({ length: 9 }, () => made("a"));
    const [first] = keys as [VerificationKey];
    expect(kids.refusalOf(first, keys)).toBeUndefined();
    const refused = keys.map((key) => kids.refusalOf(key, [key])?.code);
    expect(refused).toEqual([...Array<undefined>(8).fill(undefined), "kid_rebound"]);
  });

  it("is separate for each owner, and for kids of any length", () => {
    const kids = createKidMemory(10);
    const long = "k".repeat(5000);
    const keys = [made(long), made(`${long}1`), made('"'), made("a")];
    for (const owner of ["one", "two"]) {
      for (const key of keys) expect(kids.of(owner).refusalOf(key, [key])).toBeUndefined();
    }
    const other = made(long);
    expect(kids.of("one").refusalOf(other, [other])).toMatchObject(REBOUND);
    expect(kids.of("three").refusalOf(other, [other])).toBeUndefined();
  });
});

describe("the memory", () => {
  it("of a key function has 10,000 kids", () => {
    expect(REMEMBERED_KIDS).toBe(10_000);
  });

  it("holds the most recently used kids", () => {
    const kids = createKidMemory(2).of("");
    const [a, b, c] = [made("a"), made("b"), made("c")];
    for (const key of [a, b, a, c]) expect(kids.refusalOf(key, [key])).toBeUndefined();
    const [otherA, otherB] = [made("a"), made("b")];
    expect(kids.refusalOf(otherA, [otherA])).toMatchObject(REBOUND);
    expect(kids.refusalOf(otherB, [otherB])).toBeUndefined();
  });
});
