import { describe, expect, test } from "vitest";
import { certificateFinding, expiresSoon } from "../src/doctor/certificates.ts";
import { FIXED_CHAIN } from "./support/fixed-chain.ts";
import { RFC_KEY } from "./support/key-folder.ts";

// What doctor says of a chain whose leaf is valid from 2026-07-01 to 2027-07-01.

const DAY = 86_400_000;
const START = Date.parse("2026-07-01T00:00:00Z");
const END = Date.parse("2027-07-01T00:00:00Z");
const { d: _private, ...publicKey } = RFC_KEY;
const KEY = { keyId: "a", publicKey };
const CHAIN = { chain: FIXED_CHAIN };

const found = (now: number, span?: { from: number; until: number }): readonly string[] =>
  certificateFinding(CHAIN, KEY, span, now).map(({ check, level, text }) => `${check} ${level}: ${text}`);

const VALID = "certificates ok: 2 to show, valid until 2027-07-01T00:00:00.000Z";
const SOON = "certificates warning: certificate 1 of 2 is valid until 2027-07-01T00:00:00.000Z";

describe("a chain", () => {
  test("that is not there is not told", () => {
    expect(certificateFinding(undefined, KEY, undefined, START)).toEqual([]);
  });

  test.each<[now: number, said: string]>([
    [START, `${VALID} (365 days)`],
    [END - 30 * DAY, `${VALID} (30 days)`],
    [END - 30 * DAY + 1, `${SOON} (29 days)`],
    [END - 2 * DAY + 1, `${SOON} (1 day)`],
    [END - DAY, `${SOON} (1 day)`],
    [END - 1, `${SOON} (0 days)`],
  ])("at %i is: %s", (now, said) => {
    expect(found(now)).toEqual([said]);
  });

  test.each([
    [END + 1000, /^certificates problem: certificate 1 of 2 expired at 2027-07-01T00:00:00\.000Z/],
    [START - 1000, /^certificates problem: certificate 1 of 2 .*2026-07-01T00:00:00\.000Z/],
  ])("that is not valid at %i is a problem", (now, said) => {
    expect(found(now)).toEqual([expect.stringMatching(said)]);
    expect(certificateFinding(CHAIN, KEY, undefined, now)[0]?.todo).toBe(
      "Renew it: the OP does not start with this chain",
    );
  });

  test("of another key is a problem", () => {
    const other = { keyId: "a", publicKey: { ...publicKey, x: publicKey.y, y: publicKey.x } };
    expect(certificateFinding(CHAIN, other, undefined, START)).toEqual([
      {
        check: "certificates",
        level: "problem",
        text: expect.stringMatching(/^certificates/),
        todo: "Correct the chain: the OP does not start with it",
      },
    ]);
  });
});

describe("a key of a schedule", () => {
  test("that is no longer published may have a chain that ended", () => {
    const over = ["certificates note: the key is no longer published, so its chain may expire"];
    expect(found(END + DAY, { from: START, until: END + DAY })).toEqual(over);
    expect(found(START, { from: START - DAY, until: START - 1 })).toEqual(over);
    expect(found(START, { from: START - DAY, until: START + 1 })).toEqual([expect.stringMatching(/ ok: /)]);
  });

  test("that is published later needs its chain then", () => {
    expect(found(START - 10 * DAY, { from: START, until: Infinity })).toEqual([`${VALID} (375 days)`]);
    expect(found(START - 10 * DAY, { from: START - 1000, until: Infinity })).toEqual([
      expect.stringMatching(/ problem: /),
    ]);
  });

  test("that leaves the set before its chain ends needs no other", () => {
    expect(found(END - DAY, { from: START, until: END })).toEqual([`${VALID} (1 day)`]);
    expect(found(END - DAY, { from: START, until: END + 1 })).toEqual([`${SOON} (1 day)`]);
  });
});

test("a certificate that ends soon is told with what to do, and without a span for good", () => {
  const certificate = { name: "the certificate", notBefore: START, notAfter: END } as never;
  expect(expiresSoon(certificate, undefined, END - DAY)).toEqual({
    text: "the certificate is valid until 2027-07-01T00:00:00.000Z (1 day)",
    todo: "Renew it, and deploy the new chain in the certificates of the entry",
  });
  expect(expiresSoon(certificate, undefined, START)).toBeUndefined();
});
