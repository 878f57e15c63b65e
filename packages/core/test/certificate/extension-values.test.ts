import { describe, expect, test } from "vitest";
import { unreadableExtension } from "../../src/certificate/extension-values.ts";
import { der, sequence } from "../support/certificates.ts";

// Extensions that core does not need, and that verifiers read. Each has values that can be read, and values that cannot.

const OCTETS = 0x04;
const bytes = (...values: readonly number[]): Buffer => Buffer.from(values);
const emptySequence = sequence();
const oid = der(0x06, bytes(0x2a, 0x03));
const context = (choice: number, contents: Buffer = Buffer.of(1)): Buffer => der(0x80 + choice, contents);
const ip = (length: number): Buffer => context(7, Buffer.alloc(length));
const NOT_DER = bytes(0x30, 0x05, 0);

const NAMES: readonly Buffer[] = [
  emptySequence,
  sequence(context(0), context(8)),
  sequence(
    context(1, Buffer.from("op@op.example")),
    context(2, Buffer.from("op.example")),
    context(6, Buffer.from("op:1")),
  ),
  sequence(context(2, Buffer.of(0x7f)), ip(4), ip(16)),
  // A directory name has text in other alphabets.
  sequence(context(4, Buffer.from("é")), context(0x20 + 4, Buffer.from("é"))),
];
const NO_NAMES: readonly Buffer[] = [
  Buffer.alloc(0),
  NOT_DER,
  der(0x31, context(2)),
  Buffer.concat([sequence(context(2)), sequence()]),
  sequence(oid),
  sequence(der(0x42, Buffer.of(1))),
  sequence(der(0xc2, Buffer.of(1))),
  sequence(context(2), oid),
  sequence(context(9)),
  sequence(context(1, Buffer.of(0x80))),
  sequence(context(2, Buffer.of(0x61, 0x80))),
  sequence(context(6, Buffer.of(0xff))),
  ...[0, 3, 5, 8, 15, 17].map((length) => sequence(ip(length))),
];
const CONTEXTS = [emptySequence, sequence(context(0), context(1)), sequence(context(0x20))];
const NO_CONTEXTS = [Buffer.alloc(0), NOT_DER, sequence(oid), sequence(context(0), der(0xc0, Buffer.of(1)))];
const SEQUENCES = [emptySequence, sequence(emptySequence, sequence(oid))];
const NO_SEQUENCES = [
  Buffer.alloc(0),
  NOT_DER,
  sequence(oid),
  sequence(emptySequence, oid),
  sequence(der(0x30, bytes(4, 9))),
];

test.each<[id: string, name: string, readable: readonly Buffer[], unreadable: readonly Buffer[]]>([
  [
    "2.5.29.14",
    "subjectKeyIdentifier",
    [der(OCTETS, Buffer.of(1)), der(OCTETS, Buffer.alloc(20))],
    [der(OCTETS, Buffer.alloc(0)), oid, Buffer.concat([der(OCTETS, Buffer.of(1)), oid]), Buffer.alloc(0), NOT_DER],
  ],
  ["2.5.29.17", "subjectAltName", NAMES, NO_NAMES],
  ["2.5.29.18", "issuerAltName", NAMES, NO_NAMES],
  ["2.5.29.30", "nameConstraints", CONTEXTS, NO_CONTEXTS],
  ["2.5.29.31", "cRLDistributionPoints", SEQUENCES, NO_SEQUENCES],
  ["2.5.29.32", "certificatePolicies", SEQUENCES, NO_SEQUENCES],
  ["2.5.29.33", "policyMappings", SEQUENCES, NO_SEQUENCES],
  ["2.5.29.35", "authorityKeyIdentifier", CONTEXTS, NO_CONTEXTS],
  ["2.5.29.36", "policyConstraints", CONTEXTS, NO_CONTEXTS],
  ["2.5.29.37", "extKeyUsage", [emptySequence, sequence(oid, oid)], [sequence(oid, emptySequence), oid, NOT_DER]],
  [
    "2.5.29.54",
    "inhibitAnyPolicy",
    [der(2, Buffer.of(0))],
    [der(2, Buffer.alloc(0)), oid, sequence(der(2, Buffer.of(0)))],
  ],
  ["1.3.6.1.5.5.7.1.1", "authorityInfoAccess", SEQUENCES, NO_SEQUENCES],
])("%s is %s", (id, name, readable, unreadable) => {
  for (const value of readable)
    expect([value.toString("hex"), unreadableExtension(id, value)]).toEqual([value.toString("hex"), undefined]);
  for (const value of unreadable)
    expect([value.toString("hex"), unreadableExtension(id, value)]).toEqual([value.toString("hex"), name]);
});

describe("an extension that is not one of these", () => {
  test.each(["2.5.29.19", "2.5.29.15", "1.2.3", ""])("may have any value: %s", (id) => {
    for (const value of [Buffer.alloc(0), NOT_DER, oid]) expect(unreadableExtension(id, value)).toBeUndefined();
  });
});
