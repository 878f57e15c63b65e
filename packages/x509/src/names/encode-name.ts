import { IA5String, PrintableString, Utf8String } from "asn1js";
import { derOf, objectIdentifier, sequence, setOf } from "../encode/der.ts";
import type { AttributeStringType } from "./attribute-types.ts";
import type { ReadAttribute, ReadName } from "./read-name.ts";

/** A Name (RFC 5280 section 4.1.2.4) in DER. */
export function encodeName(name: ReadName): Uint8Array {
  return sequence(name.map((attributes) => setOf(attributes.map(encodeAttribute))));
}

function encodeAttribute({ type, value }: ReadAttribute): Uint8Array {
  const der = "der" in value ? value.der : encodeText(value.text, value.encoding);
  return sequence([objectIdentifier(type.oid), der]);
}

function encodeText(value: string, encoding: AttributeStringType): Uint8Array {
  if (encoding === "printable") return derOf(new PrintableString({ value }));
  return derOf(encoding === "ia5" ? new IA5String({ value }) : new Utf8String({ value }));
}
