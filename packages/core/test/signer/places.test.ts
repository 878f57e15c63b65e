import { describe, expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { markPlace } from "@signpost/core/adapter";
import {
  attemptedPlace,
  blameOf,
  copiedSignature,
  noteMade,
  notePlace,
  onBadSignature,
  placeOf,
} from "../../src/signer/places.ts";
import { thrownBy } from "../support/key-fixtures.ts";

// Where a signature was made, and what is told if it does not verify.

const [here, there] = [{ uri: "test:here" }, { uri: "test:there" }];
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

  test("that has no marks gets those of the same bytes, whichever of several signers made them first", () => {
    const digest = new Uint8Array(32);
    noteMade(digest, markPlace(Uint8Array.of(1), here));
    noteMade(digest, markPlace(Uint8Array.of(2), there));
    const places = [1, 2, 3].map((byte) => placeOf(copiedSignature(Uint8Array.of(byte), digest)));
    expect(places).toEqual([here, there, undefined]);
  });

  test.each([undefined, null, "text", 7, [1, 2]])("of %j is the same", (value) => {
    expect(copiedSignature(value)).toBe(value);
  });
});
