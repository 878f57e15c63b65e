import { describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { markPlace } from "@signpost/core/adapter";
import {
  attemptedPlace,
  blameOf,
  copiedSignature,
  followDigest,
  followedCopy,
  madeAt,
  noteMade,
  notePlace,
  onBadSignature,
  placeOf,
  unfollowDigest,
} from "../../src/signer/places.ts";
import { thrownBy } from "../support/key-fixtures.ts";

// Where a signature was made, and what is told if it does not verify.

const [here, there] = [{ uri: "test:here" }, { uri: "test:there" }];
/** Key URI of the signer that made the call. */
const OUTER = "test:outer";
const ERROR = new SignerError("bad_signature", "it does not verify");

describe("the place of a signature", () => {
  test("is its mark, which is hidden, and can be replaced", () => {
    const signature = new Uint8Array(64);
    expect(placeOf(signature)).toBeUndefined();
    expect(markPlace(signature, here)).toBe(signature);
    expect(placeOf(signature)).toBe(here);
    markPlace(signature, there);
    expect(placeOf(signature)).toBe(there);
    expect(Reflect.ownKeys({ ...signature }).some((key) => typeof key === "symbol")).toBe(false);
  });

  test.each([undefined, null, "text", 7])("is none of %j, which is returned as it is", (value) => {
    expect(markPlace(value, here)).toBe(value);
    expect(placeOf(value)).toBeUndefined();
    expect(blameOf(value)).toBeUndefined();
  });

  test.each([undefined, null, "test:here", 7])("must be an object, not %j", (place) => {
    expect(thrownBy(() => markPlace(new Uint8Array(64), place as never))).toMatchObject({ argument: "place" });
  });

  test("of an attempt is the last one that was noted for its signal", () => {
    const { signal } = new AbortController();
    expect(attemptedPlace(signal)).toBeUndefined();
    notePlace(signal, here);
    notePlace(signal, there);
    expect(attemptedPlace(signal)).toBe(there);
    expect(attemptedPlace(new AbortController().signal)).toBeUndefined();
    notePlace(undefined, here);
    expect(attemptedPlace(undefined)).toBeUndefined();
  });
});

describe("blame", () => {
  test("reaches all that asked for it, the innermost first", () => {
    const signature = new Uint8Array(64);
    const told: unknown[] = [];
    onBadSignature(signature, (error) => told.push(["inner", error]));
    onBadSignature(signature, (error) => told.push(["outer", error]));
    blameOf(signature)?.(ERROR);
    expect(told).toEqual([
      ["inner", ERROR],
      ["outer", ERROR],
    ]);
  });
});

describe("a copy of a signature", () => {
  test("has its own bytes, its place and its blame", () => {
    const signature = markPlace(Uint8Array.of(1, 2), here);
    const told: unknown[] = [];
    onBadSignature(signature, (error) => told.push(error));
    const copy = copiedSignature(signature);
    expect(copy).not.toBe(signature);
    expect([...(copy as Uint8Array)]).toEqual([1, 2]);
    expect(placeOf(copy)).toBe(here);
    blameOf(copy)?.(ERROR);
    expect(told).toEqual([ERROR]);
  });

  test("has no place and no blame if there is none", () => {
    const copy = copiedSignature(Uint8Array.of(1));
    expect([placeOf(copy), blameOf(copy)]).toEqual([undefined, undefined]);
  });

  test.each([undefined, null, "text", 7, [1, 2]])("of %j is the same", (value) => {
    expect(copiedSignature(value)).toBe(value);
  });
});

describe("a signature without marks, of a call whose digest was passed on,", () => {
  const digest = (first: number): Uint8Array => new Uint8Array(32).fill(first, 0, 1);

  test("gets the marks of the same bytes, whichever of several signers made them first", () => {
    const call = followDigest(digest(1));
    noteMade(digest(1), markPlace(Uint8Array.of(1), here));
    noteMade(digest(1), markPlace(Uint8Array.of(2), there));
    const places = [1, 2].map((byte) => placeOf(followedCopy(call, Uint8Array.of(byte), OUTER)));
    expect(places).toEqual([here, there]);
    unfollowDigest(call);
  });

  test("gets a place that is new each time, and no blame, if its bytes are others", () => {
    const call = followDigest(digest(1));
    const made = markPlace(Uint8Array.of(1), there);
    onBadSignature(made, () => undefined);
    noteMade(digest(1), made);
    const changed = [followedCopy(call, Uint8Array.of(2), here.uri), followedCopy(call, Uint8Array.of(2), here.uri)];
    const places = changed.map(placeOf);
    expect(places).toEqual([here, here]);
    expect(new Set([here, ...places]).size).toBe(3);
    expect(changed.map(blameOf)).toEqual([undefined, undefined]);
    unfollowDigest(call);
  });

  test("is found by the digest from the begin of the call, which the call may wipe", () => {
    const own = digest(1);
    const call = followDigest(own);
    own.fill(0);
    noteMade(digest(1), markPlace(Uint8Array.of(1), here));
    expect(placeOf(followedCopy(call, Uint8Array.of(1), OUTER))).toBe(here);
    unfollowDigest(call);
  });

  test("gets them from another copy of this package", async () => {
    vi.resetModules();
    const other = await import("../../src/signer/places.ts");
    expect(other.noteMade).not.toBe(noteMade);
    const call = followDigest(digest(1));
    other.noteMade(digest(1), markPlace(Uint8Array.of(1), here));
    expect(placeOf(followedCopy(call, Uint8Array.of(1), OUTER))).toBe(here);
    unfollowDigest(call);
  });

  test("gets none of another digest, and none from before the call", () => {
    noteMade(digest(1), markPlace(Uint8Array.of(1), here));
    const call = followDigest(digest(1));
    noteMade(digest(2), markPlace(Uint8Array.of(2), there));
    expect([1, 2].map((byte) => placeOf(followedCopy(call, Uint8Array.of(byte), OUTER)))).toEqual([
      undefined,
      undefined,
    ]);
    unfollowDigest(call);
  });

  test.each([1, 2])("keeps the mark of an adapter, with the blame of the same bytes: %i", (byte) => {
    const call = followDigest(digest(1));
    const made = markPlace(Uint8Array.of(1), here);
    const told: unknown[] = [];
    onBadSignature(made, (error) => told.push(error));
    noteMade(digest(1), made);
    const copy = followedCopy(call, markPlace(Uint8Array.of(byte), there), OUTER);
    expect(placeOf(copy)).toBe(there);
    blameOf(copy)?.(ERROR);
    expect(told).toEqual(byte === 1 ? [ERROR] : []);
    unfollowDigest(call);
  });

  test.each<[string, (signature: Uint8Array) => void]>([
    ["place", (signature) => void madeAt(signature, here)],
    ["blame", (signature) => onBadSignature(signature, () => undefined)],
  ])("gets a place that is new each time in memory with the %s of an earlier one", (_mark, set) => {
    const call = followDigest(digest(1));
    const memory = Uint8Array.of(1);
    set(memory);
    const copies = [followedCopy(call, memory, here.uri), followedCopy(call, memory, here.uri)];
    expect(copies.map(placeOf)).toEqual([here, here]);
    expect(new Set([here, ...copies.map(placeOf)]).size).toBe(3);
    expect(copies.map(blameOf)).toEqual([undefined, undefined]);
    unfollowDigest(call);
  });

  test("is compared with the bytes as they were made, which the caller may change", () => {
    const call = followDigest(digest(1));
    const made = markPlace(Uint8Array.of(1), here);
    noteMade(digest(1), made);
    made.fill(2);
    const places = [1, 2].map((byte) => placeOf(followedCopy(call, Uint8Array.of(byte), here.uri)));
    expect(places).toEqual([here, here]);
    expect(places.map((place) => place === here)).toEqual([true, false]);
    unfollowDigest(call);
  });

  test("is not compared with what is no signature", () => {
    const call = followDigest(digest(1));
    noteMade(digest(1), "text" as never);
    expect(placeOf(followedCopy(call, Uint8Array.of(1), OUTER))).toBeUndefined();
    unfollowDigest(call);
  });

  test("gets them while another call with the digest is over already", () => {
    const [first, second] = [followDigest(digest(1)), followDigest(digest(1))];
    noteMade(digest(1), markPlace(Uint8Array.of(1), here));
    unfollowDigest(first);
    expect(placeOf(followedCopy(second, Uint8Array.of(1), OUTER))).toBe(here);
    unfollowDigest(second);
    const third = followDigest(digest(1));
    expect(placeOf(followedCopy(third, Uint8Array.of(1), OUTER))).toBeUndefined();
    unfollowDigest(third);
  });

  test("gets them among calls whose digests begin alike, which end in any order", () => {
    const digests = [1, 2, 3].map((last) => new Uint8Array(32).fill(last, 31));
    const calls = digests.map((one) => followDigest(one));
    const [a, b, c] = calls as [(typeof calls)[0], (typeof calls)[0], (typeof calls)[0]];
    unfollowDigest(b);
    for (const one of digests) noteMade(one, markPlace(Uint8Array.of(one[31] ?? 0), here));
    expect([a, b, c].map((call, at) => placeOf(followedCopy(call, Uint8Array.of(at + 1), OUTER)))).toEqual([
      here,
      undefined,
      here,
    ]);
    unfollowDigest(c);
    noteMade(new Uint8Array(32).fill(1, 31), markPlace(Uint8Array.of(9), there));
    expect(placeOf(followedCopy(a, Uint8Array.of(9), OUTER))).toBe(there);
    unfollowDigest(a);
  });

  test("gets those of the last sixteen that were made for each call", () => {
    const call = followDigest(digest(1));
    for (let byte = 0; byte < 17; byte += 1) noteMade(digest(1), markPlace(Uint8Array.of(byte), here));
    const isHere = (byte: number): boolean => placeOf(followedCopy(call, Uint8Array.of(byte), OUTER)) === here;
    expect([0, 1, 16].map(isHere)).toEqual([false, true, true]);
    unfollowDigest(call);
  });
});
