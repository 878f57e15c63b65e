import { ConfigurationError } from "@signpost/core";
import { isOneDerElement } from "../encode/der.ts";

/** An attribute in a string of RFC 4514: text, or DER if it was written as `#` and hexadecimal digits. */
export interface ParsedAttribute {
  readonly type: string;
  readonly text: string;
  readonly der: Uint8Array | undefined;
}

/** More than any name takes. */
const LONGEST = 8192;

/**
 * Parses a string of RFC 4514, and returns its relative names in the order of the encoding, which is the opposite one.
 * Spaces around `,`, `+` and `=` are skipped, as RFC 2253 wrote names. They are part of a value only if they are escaped.
 */
export function parseName(argument: string, text: string): readonly (readonly ParsedAttribute[])[] {
  if (text.length > LONGEST) throw new ConfigurationError(argument, `expected at most ${LONGEST} characters`);
  // UTF-8 would have a replacement character instead.
  if (!text.isWellFormed()) throw new ConfigurationError(argument, "expected text without lone surrogates");
  if (/^ *$/.test(text)) return [];
  if (text.startsWith("/")) {
    throw new ConfigurationError(
      argument,
      "expected a name like CN=op.example,O=Example, not OpenSSL's form with slashes",
    );
  }
  const names: ParsedAttribute[][] = [[]];
  let rest = text;
  for (;;) {
    const [whole, type, value = "", separator = ""] = ATTRIBUTE.exec(rest) ?? [];
    if (whole === undefined || type === undefined) {
      throw new ConfigurationError(
        argument,
        'expected attributes like CN=op.example,O=Example; write \\ before each , + " \\ < > ; of a value (RFC 4514)',
      );
    }
    names.at(-1)?.push({ type, ...parseValue(argument, value) });
    rest = rest.slice(whole.length);
    if (separator === "") return names.toReversed();
    if (separator === ",") names.push([]);
  }
}

// RFC 4514 section 3. A value is pairs, hexadecimal digits, or any character but the special ones.
const ATTRIBUTE =
  /^ *([A-Za-z][A-Za-z\d-]*|\d+(?:\.\d+)*) *= *((?:\\(?:[\dA-Fa-f]{2}|[ "#+,;<=>\\])|[^"+,;<>\\\0])*)(?:([,+])|$)/;

function parseValue(argument: string, written: string): Pick<ParsedAttribute, "text" | "der"> {
  if (written.startsWith("#")) return { text: "", der: parseHex(argument, written.slice(1).replace(/ +$/, "")) };
  const value = withoutTrailingSpace(written);
  const parts = value.match(/\\[\dA-Fa-f]{2}|\\.|[^\\]+/gsu) ?? [];
  const bytes = Buffer.concat(parts.map(bytesOf));
  const text = bytes.toString("utf8");
  if (Buffer.from(text, "utf8").equals(bytes)) return { text, der: undefined };
  throw new ConfigurationError(argument, "the escaped bytes of a value are not UTF-8");
}

/** A space after a backslash is part of the value. */
function withoutTrailingSpace(written: string): string {
  const value = written.replace(/ +$/, "");
  const backslashes = value.length - value.replace(/\\+$/, "").length;
  return backslashes % 2 === 1 ? `${value} ` : value;
}

function bytesOf(part: string): Buffer {
  if (!part.startsWith("\\")) return Buffer.from(part, "utf8");
  return part.length === 3 ? Buffer.from(part.slice(1), "hex") : Buffer.from(part.slice(1), "utf8");
}

function parseHex(argument: string, digits: string): Uint8Array {
  const der = new Uint8Array(Buffer.from(digits, "hex"));
  if (/^(?:[\dA-Fa-f]{2})+$/.test(digits) && isOneDerElement(der)) return der;
  throw new ConfigurationError(argument, "expected the hexadecimal digits of one DER value after #");
}
