import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";

const LONGEST = 128;

/** Whether it is an object identifier in dotted form (X.660): `1.2.840.10045`, without leading zeros. */
export function isOid(text: string): boolean {
  if (text.length > LONGEST || !/^[0-2](?:\.(?:0|[1-9]\d*))+$/.test(text)) return false;
  const [first, second = ""] = text.split(".");
  // Both are in one number, in which the second has 40 places below the arcs 0 and 1.
  return first === "2" || (second.length <= 2 && Number(second) < 40);
}

/** Reads an object identifier that the caller gave. */
export function readOid(argument: string, value: unknown): string {
  if (typeof value === "string" && isOid(value)) return value;
  throw new ConfigurationError(argument, `expected an object identifier like 1.3.6.1.4.1.99999.1, got ${given(value)}`);
}

/**
 * An object identifier as asn1js gives it, in dotted form. It writes a number above 2^53 as `{…}`, which are the hexadecimal
 * digits of its groups of seven bits. Those of UUIDs (2.25) are that large.
 */
export function dottedOid(oid: string): string {
  return oid.replaceAll(/\{([\da-f]+)\}/g, (_, hex: string) =>
    Buffer.from(hex, "hex")
      .reduce((sum, group) => sum * 128n + BigInt(group), 0n)
      .toString(),
  );
}
