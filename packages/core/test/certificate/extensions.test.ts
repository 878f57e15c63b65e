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

describe("an object identifier", () => {
  test.each([
    ["551d13", "2.5.29.19"],
    ["2a864886f70d010101", "1.2.840.113549.1.1.1"],
    ["00", "0.0"],
    ["8837", "2.999"],
    // Of a UUID: the next one has the same first 53 bits.
    ["6983f1a8b2c3d4e5f6a7b8c9d0e1f2a3b4c5d67e", "2.25.330522898510946335456790299778424597374"],
  ])("%s is exactly %s", (hex, dotted) => {
    const bytes = Buffer.from(hex, "hex");
    expect(objectIdentifier(bytes)).toBe(dotted);
    expect(objectIdentifier(Buffer.from(bytes.with(bytes.length - 1, (bytes.at(-1) ?? 0) ^ 1)))).not.toBe(dotted);
  });

  test("longer than any is not converted, which would take quadratic time", () => {
    expect(objectIdentifier(new Uint8Array(200_000).fill(0xff))).toHaveLength(400_001);
  });
});
