import { describe, expect, test } from "vitest";
import { objectIdentifier, readExtensions } from "../../src/certificate/extensions.ts";
import { der, sequence } from "../support/certificates.ts";

const TRUE = der(0x01, Buffer.of(0xff));
const LENGTH = der(0x02, Buffer.of(1));

function basicConstraints(...members: readonly Buffer[]): unknown {
  return readExtensions(sequence(sequence(der(0x06, Buffer.from("551d13", "hex")), der(0x04, sequence(...members)))));
}

describe("basicConstraints", () => {
  test.each<[name: string, members: readonly Buffer[], isCa: boolean, pathLength: number | undefined]>([
    ["nothing", [], false, undefined],
    ["cA", [TRUE], true, undefined],
    ["cA and pathLenConstraint", [TRUE, LENGTH], true, 1],
    ["pathLenConstraint", [LENGTH], false, 1],
  ])("of %s is read", (_name, members, isCa, pathLength) => {
    expect(basicConstraints(...members)).toMatchObject({ isCa, pathLength });
  });

  test.each<[name: string, members: readonly Buffer[]]>([
    ["the members in the other order", [LENGTH, TRUE]],
    ["a member with another tag", [TRUE, der(0x22, Buffer.of(1))]],
    ["cA twice", [TRUE, TRUE]],
    ["pathLenConstraint twice", [LENGTH, LENGTH]],
    ["three members", [TRUE, LENGTH, LENGTH]],
  ])("with %s is refused, as OpenSSL does", (_name, members) => {
    expect(basicConstraints(...members)).toBe("the extension basicConstraints is not DER");
  });
});

const OBJECT = 0x06;
const OCTETS = 0x04;
const BITS = 0x03;
const oid = (hex: string): Buffer => der(OBJECT, Buffer.from(hex, "hex"));
const extension = (hex: string, ...rest: readonly Buffer[]): Buffer => sequence(oid(hex), ...rest);
const octets = (contents: Buffer): Buffer => der(OCTETS, contents);
const boolean = (...bytes: readonly number[]): Buffer => der(0x01, Buffer.from(bytes));
const read = (...extensions: readonly Buffer[]): unknown => readExtensions(sequence(...extensions));

const NOTHING = { isCa: false, pathLength: undefined, keyUsage: undefined, unknownCritical: [] };

describe("the list of extensions", () => {
  test("may be missing or empty", () => {
    expect(readExtensions(undefined)).toEqual(NOTHING);
    expect(readExtensions(sequence())).toEqual(NOTHING);
  });

  test.each<[name: string, list: Buffer]>([
    ["nothing", Buffer.alloc(0)],
    ["no sequence", octets(Buffer.alloc(0))],
    ["two sequences", Buffer.concat([sequence(), sequence()])],
    ["an extension that is no sequence", sequence(oid("2a03"))],
    ["an extension of nothing", sequence(sequence())],
    ["no object identifier", sequence(sequence(octets(Buffer.of(5, 0))))],
    ["no value", sequence(extension("2a03"))],
    ["a value that is no octets", sequence(extension("2a03", oid("2a03")))],
    ["a member after the value", sequence(extension("2a03", octets(Buffer.of(5, 0)), octets(Buffer.of(5, 0))))],
    ["critical after the value", sequence(extension("2a03", octets(Buffer.of(5, 0)), boolean(0xff)))],
    ["critical twice", sequence(extension("2a03", boolean(0xff), boolean(0xff), octets(Buffer.of(5, 0))))],
    ["a critical of no bytes", sequence(extension("2a03", boolean(), octets(Buffer.of(5, 0))))],
    ["a critical of two bytes", sequence(extension("2a03", boolean(0xff, 0xff), octets(Buffer.of(5, 0))))],
    ["a critical that is not DER", sequence(extension("2a03", boolean(0x01), octets(Buffer.of(5, 0))))],
    ["one good and one bad", sequence(extension("2a03", octets(Buffer.of(5, 0))), extension("2a04"))],
  ])("of %s is refused", (_name, list) => {
    expect(readExtensions(list)).toBe("the extensions are not DER");
  });

  test("has each extension once", () => {
    const one = extension("2a03", octets(Buffer.of(5, 0)));
    expect(read(one, extension("2a04", octets(Buffer.of(5, 0))))).toEqual(NOTHING);
    expect(read(one, one)).toBe("an extension is there twice");
  });

  test("tells which critical ones are not known", () => {
    expect(
      read(
        extension("2a03", boolean(0xff), octets(Buffer.of(5, 0))),
        extension("2a04", boolean(0x00), octets(Buffer.of(5, 0))),
        extension("2a05", octets(Buffer.of(5, 0))),
        extension("2a06", boolean(0xff), octets(Buffer.of(5, 0))),
      ),
    ).toEqual({ ...NOTHING, unknownCritical: ["1.2.3", "1.2.6"] });
  });

  test("tells which one cannot be read", () => {
    expect(read(extension("551d11", octets(oid("2a03"))))).toBe("the extension subjectAltName cannot be read");
  });

  test.each([
    ["basicConstraints", "551d13", sequence()],
    ["keyUsage", "551d0f", der(BITS, Buffer.of(7, 0x80))],
    ["subjectAltName", "551d11", sequence()],
    ["issuerAltName", "551d12", sequence()],
    ["nameConstraints", "551d1e", sequence()],
    ["cRLDistributionPoints", "551d1f", sequence()],
    ["certificatePolicies", "551d20", sequence()],
    ["policyMappings", "551d21", sequence()],
    ["policyConstraints", "551d24", sequence()],
    ["extKeyUsage", "551d25", sequence()],
    ["inhibitAnyPolicy", "551d36", der(0x02, Buffer.of(0))],
  ])("knows the critical extension %s", (_name, hex, value) => {
    expect(read(extension(hex, boolean(0xff), octets(value)))).toMatchObject({ unknownCritical: [] });
  });

  test.each([
    ["subjectKeyIdentifier", "551d0e", octets(Buffer.of(1))],
    ["authorityKeyIdentifier", "551d23", sequence()],
    ["authorityInfoAccess", "2b06010505070101", sequence()],
  ])("does not know the critical extension %s, which must not be critical", (_name, hex, value) => {
    expect(read(extension(hex, boolean(0xff), octets(value)))).toMatchObject({ unknownCritical: [expect.any(String)] });
    expect(read(extension(hex, octets(value)))).toMatchObject({ unknownCritical: [] });
  });
});

describe("the length of a path", () => {
  test.each([[0], [1], [127]])("is %d", (length) => {
    expect(basicConstraints(TRUE, der(0x02, Buffer.of(length)))).toMatchObject({ isCa: true, pathLength: length });
  });

  test.each([
    ["negative", [0x80]],
    ["of no bytes", []],
    ["of two bytes", [0, 0x80]],
    ["of two bytes for one", [0, 1]],
  ])("is refused if it is %s", (_name, bytes) => {
    expect(basicConstraints(TRUE, der(0x02, Buffer.from(bytes)))).toBe("the extension basicConstraints is not DER");
  });

  test("comes after cA, which may be FALSE", () => {
    expect(basicConstraints(boolean(0), LENGTH)).toMatchObject({ isCa: false, pathLength: 1 });
    for (const bad of [boolean(), boolean(1), boolean(0xff, 0xff)])
      expect(basicConstraints(bad)).toBe("the extension basicConstraints is not DER");
  });

  test.each([
    ["no sequence", octets(Buffer.alloc(0))],
    ["two sequences", Buffer.concat([sequence(), sequence()])],
    ["nothing", Buffer.alloc(0)],
  ])("is refused in %s", (_name, value) => {
    expect(read(extension("551d13", octets(value)))).toBe("the extension basicConstraints is not DER");
  });
});

describe("keyUsage", () => {
  const usage = (...bytes: readonly number[]): unknown =>
    read(extension("551d0f", octets(der(BITS, Buffer.from(bytes)))));

  test.each([
    [[7, 0x80], true, false],
    [[6, 0x40], true, false],
    [[6, 0xc0], true, false],
    [[5, 0x20], false, false],
    [[2, 0x04], false, true],
    [[1, 0x06], false, true],
    [[1, 0x02], false, false],
    [[2, 0xfc], true, true],
    [[0, 0xff], true, true],
    [[7, 0x00, 0x80], false, false],
    [[7, 0x80, 0x80], true, false],
    [[0, 0x00], false, false],
  ])("%j signs: %s, and signs certificates: %s", (bytes, signs, signsCertificates) => {
    expect(usage(...bytes)).toMatchObject({ keyUsage: { signs, signsCertificates } });
  });

  test.each([
    ["without bytes", []],
    ["without bits", [0]],
    ["with eight unused bits", [8, 0x00]],
    ["with an unused bit that is set", [7, 0xc0]],
    ["with an unused bit that is set in its last byte", [7, 0x80, 0xc0]],
    ["with all bits set and seven unused", [7, 0xff]],
  ])("%s is refused", (_name, bytes) => {
    expect(usage(...bytes)).toBe("the extension keyUsage is not DER");
  });

  test.each([
    ["that is no bits", octets(Buffer.of(7, 0x80))],
    ["with another value after it", Buffer.concat([der(BITS, Buffer.of(7, 0x80)), sequence()])],
    ["of nothing", Buffer.alloc(0)],
    ["that is not DER", Buffer.of(3, 9, 0)],
  ])("%s is refused", (_name, value) => {
    expect(read(extension("551d0f", octets(value)))).toBe("the extension keyUsage is not DER");
  });
});

describe("an object identifier", () => {
  test.each([
    ["551d13", "2.5.29.19"],
    ["2a864886f70d010101", "1.2.840.113549.1.1.1"],
    ["00", "0.0"],
    ["27", "0.39"],
    ["28", "1.0"],
    ["4f", "1.39"],
    ["50", "2.0"],
    ["8100", "2.48"],
    ["2a00", "1.2.0"],
    ["2aff7f", "1.2.16383"],
    ["8837", "2.999"],
    // Of a UUID: the next one has the same first 53 bits.
    ["6983f1a8b2c3d4e5f6a7b8c9d0e1f2a3b4c5d67e", "2.25.330522898510946335456790299778424597374"],
  ])("%s is exactly %s", (hex, dotted) => {
    const bytes = Buffer.from(hex, "hex");
    expect(objectIdentifier(bytes)).toBe(dotted);
    expect(objectIdentifier(Buffer.from(bytes.with(bytes.length - 1, (bytes.at(-1) ?? 0) ^ 1)))).not.toBe(dotted);
  });

  test("of 128 bytes is converted, and a longer one is shown as its bytes", () => {
    expect(objectIdentifier(new Uint8Array(128).fill(1))).toBe(`0.1${".1".repeat(127)}`);
    expect(objectIdentifier(new Uint8Array(129).fill(1))).toBe(`#${"01".repeat(129)}`);
  });

  test("longer than any is not converted, which would take quadratic time", () => {
    expect(objectIdentifier(new Uint8Array(200_000).fill(0xff))).toHaveLength(400_001);
  });
});
