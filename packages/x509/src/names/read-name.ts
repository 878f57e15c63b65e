import { ConfigurationError } from "@signpost/core";
import { given, isPlainObject, nearestName } from "@signpost/core/adapter";
import { isOid } from "../encode/oid.ts";
import {
  ATTRIBUTE_TYPES,
  attributeType,
  otherType,
  type AttributeType,
  type AttributeStringType,
} from "./attribute-types.ts";
import { parseName } from "./parse-name.ts";

/** The text of an attribute, in a string type other than its default. */
export interface EncodedAttribute {
  /** The text. */
  readonly text: string;
  /**
   * `"utf8"` (UTF8String), `"printable"` (PrintableString) or `"ia5"` (IA5String), if the attribute allows it. Default: the
   * attribute's own, which is UTF8String for `CN`, `O` and most others, and PrintableString for `C` and `serialNumber`.
   */
  readonly encoding?: AttributeStringType | undefined;
}

/**
 * One relative distinguished name: an attribute and its text, as in `{ O: "Example" }`. With several attributes, it is a
 * multi-valued one. Attributes are named by a short name (`CN`), a long name (`commonName`) or an object identifier.
 */
export type RelativeDistinguishedName = Readonly<Record<string, string | EncodedAttribute>>;

/**
 * A distinguished name, in one of two forms:
 *
 * - An array in the order of the encoding, with the country or organization first:
 *   `[{ C: "DE" }, { O: "Example" }, { CN: "op.example" }]`.
 * - A string of RFC 4514, which has the opposite order: `"CN=op.example,O=Example,C=DE"`.
 */
export type DistinguishedName = string | readonly RelativeDistinguishedName[];

/** An attribute that was read and checked. */
export interface ReadAttribute {
  readonly type: AttributeType;
  readonly value: { readonly text: string; readonly encoding: AttributeStringType } | { readonly der: Uint8Array };
}

/** Relative names in the order of the encoding, each with its attributes. */
export type ReadName = readonly (readonly ReadAttribute[])[];

/** More than any certificate has. */
const MOST_NAMES = 64;

/** Reads a distinguished name that the caller gave. Every message begins with the argument. */
export function readName(argument: string, value: unknown): ReadName {
  const name =
    typeof value === "string"
      ? parseName(argument, value).map((attributes) =>
          attributes.map(({ type, text, der }) => {
            const known = typeOf(argument, type);
            if (der !== undefined) return { type: requireOther(argument, known), value: { der } };
            return readAttribute(`${argument} (${type})`, known, text);
          }),
        )
      : readStructure(argument, value);
  if (name.length > MOST_NAMES) throw new ConfigurationError(argument, `expected at most ${MOST_NAMES} names`);
  for (const attributes of name) requireDifferent(argument, attributes);
  return name;
}

function readStructure(argument: string, value: unknown): ReadName {
  if (!Array.isArray(value)) {
    throw new ConfigurationError(
      argument,
      `expected a string like "CN=op.example,O=Example", or an array like [{ O: "Example" }, { CN: "op.example" }], got ${given(value)}`,
    );
  }
  return value.map((each: unknown, index) => {
    const place = `${argument}[${index}]`;
    if (!isPlainObject(each))
      throw new ConfigurationError(place, `expected an object like { O: "Example" }, got ${given(each)}`);
    const members = Object.entries(each).filter(([, text]) => text !== undefined);
    if (members.length === 0) throw new ConfigurationError(place, "expected an attribute, got none");
    return members.map(([name, text]) => readAttribute(`${place}.${printedName(name)}`, typeOf(place, name), text));
  });
}

function typeOf(argument: string, name: string): AttributeType {
  const type = attributeType(name) ?? (isOid(name) ? otherType(name) : undefined);
  if (type !== undefined) return type;
  const known = ATTRIBUTE_TYPES.flatMap(({ names }) => names);
  const nearest = name.length < 3 ? undefined : nearestName(name, known);
  const hint = nearest === undefined ? "name it by its object identifier" : `did you mean ${nearest}?`;
  throw new ConfigurationError(argument, `the attribute ${printedName(name)} is not known; ${hint}`);
}

function printedName(name: string): string {
  return /^[\w.-]{1,64}$/.test(name) ? name : "with this name";
}

/** Text has only one form for an attribute that is known, so its encoding is not the caller's to write. */
function requireOther(argument: string, type: AttributeType): AttributeType {
  if (attributeType(type.oid) === undefined) return type;
  throw new ConfigurationError(
    argument,
    `write the attribute ${type.names[0]} as text, not as # and hexadecimal digits`,
  );
}

function readAttribute(argument: string, type: AttributeType, value: unknown): ReadAttribute {
  const { text, encoding = type.strings[0] } = isPlainObject(value) ? readEncoded(argument, value) : { text: value };
  if (typeof text !== "string" || text === "") {
    throw new ConfigurationError(argument, `expected a text that is not empty, got ${given(text)}`);
  }
  if (!type.strings.includes(encoding as AttributeStringType)) {
    const words = type.strings.map((each) => JSON.stringify(each)).join(" or ");
    throw new ConfigurationError(`${argument}.encoding`, `expected ${words}, got ${given(encoding)}`);
  }
  requireText(argument, type, text, encoding as AttributeStringType);
  return { type, value: { text, encoding: encoding as AttributeStringType } };
}

function readEncoded(argument: string, value: Record<string, unknown>): { text: unknown; encoding?: unknown } {
  for (const name of Object.keys(value)) {
    if (name !== "text" && name !== "encoding") {
      throw new ConfigurationError(argument, "expected a text, or an object with the members text and encoding");
    }
  }
  const { text, encoding } = value;
  return encoding === undefined ? { text } : { text, encoding };
}

// X.680 section 41.4.
const PRINTABLE = /^[A-Za-z\d '()+,\-./:=?]*$/;

function requireText(argument: string, type: AttributeType, text: string, encoding: AttributeStringType): void {
  // Programs have cut names at a NUL, and shown others in their logs.
  if (!text.isWellFormed() || /\p{Cc}/u.test(text)) {
    throw new ConfigurationError(argument, "expected text without control characters and lone surrogates");
  }
  const length = [...text].length;
  if (length > type.longest) {
    throw new ConfigurationError(argument, `expected at most ${type.longest} characters, got ${length}`);
  }
  if (encoding === "printable" && !PRINTABLE.test(text)) {
    throw new ConfigurationError(
      argument,
      "expected the characters of a PrintableString: A-Z a-z 0-9 space '()+,-./:=?",
    );
  }
  if (encoding === "ia5" && !/^[\0-\x7f]*$/.test(text)) throw new ConfigurationError(argument, "expected ASCII");
  if (type.form !== undefined && !type.form.pattern.test(text)) {
    throw new ConfigurationError(argument, `expected ${type.form.words}`);
  }
}

function requireDifferent(argument: string, attributes: readonly ReadAttribute[]): void {
  const oids = attributes.map(({ type }) => type.oid);
  const twice = attributes.find(({ type }, index) => oids.indexOf(type.oid) !== index);
  if (twice === undefined) return;
  throw new ConfigurationError(argument, `one relative name has the attribute ${twice.type.names[0]} twice`);
}
