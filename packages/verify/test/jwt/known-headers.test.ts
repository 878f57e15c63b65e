import { expect, it } from "vitest";
import { createKnownHeaders } from "../../src/jwt/known-headers.ts";

// The memory for headers of tokens that verified: small, whatever tokens bring.

const added = (known: ReturnType<typeof createKnownHeaders>, text: string, header: object = {}) => {
  known.add(`${text}.payload.signature`, { header: { ...header }, alg: "ES256" });
  return known.get(text);
};

it("has the header of a token under its text, frozen to the bottom", () => {
  const known = createKnownHeaders();
  const found = added(known, "text", { alg: "ES256", x: { y: [{}] }, none: null });
  expect(found).toEqual({ header: { alg: "ES256", x: { y: [{}] }, none: null }, alg: "ES256" });
  const header = found?.header as { x: { y: object[] } };
  for (const part of [header, header.x, header.x.y, header.x.y[0]]) expect(Object.isFrozen(part)).toBe(true);
});

it("keeps the object of the first token with a header", () => {
  const known = createKnownHeaders();
  const first = added(known, "text");
  known.add("text.other.signature", { header: first?.header ?? {}, alg: "ES512" });
  expect(known.get("text")).toBe(first);
});

it("has headers of up to 512 characters", () => {
  const known = createKnownHeaders();
  expect(added(known, "a".repeat(512))).toBeDefined();
  expect(added(known, "a".repeat(513))).toBeUndefined();
});

it("has the last 16 headers", () => {
  const known = createKnownHeaders();
  const texts = Array.from({ length: 17 }, (_, index) => `text-${index}`);
  for (const text of texts.slice(0, 16)) added(known, text);
  expect(texts.map((text) => known.get(text) !== undefined)).toEqual([...Array<boolean>(16).fill(true), false]);
  added(known, "text-16");
  expect(texts.map((text) => known.get(text) !== undefined)).toEqual([false, ...Array<boolean>(16).fill(true)]);
});
