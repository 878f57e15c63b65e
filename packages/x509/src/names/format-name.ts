import {
  BmpString,
  fromBER,
  IA5String,
  ObjectIdentifier,
  PrintableString,
  Sequence,
  Set as Asn1Set,
  TeletexString,
  UniversalString,
  Utf8String,
  type BaseBlock,
} from "asn1js";
import { dottedOid } from "../encode/oid.ts";
import { attributeType } from "./attribute-types.ts";

const TEXTS = [Utf8String, PrintableString, IA5String, TeletexString, BmpString, UniversalString] as const;

/** A Name in DER as a string of RFC 4514. `readName` reads it as the same name. */
export function formatName(der: Uint8Array): string {
  const relativeNames = childrenOf(fromBER(der).result, Sequence);
  return relativeNames
    .map((each) => childrenOf(each, Asn1Set).map(formatAttribute).join("+"))
    .toReversed()
    .join(",");
}

function formatAttribute(attribute: BaseBlock): string {
  const [type, value] = childrenOf(attribute, Sequence);
  if (!(type instanceof ObjectIdentifier) || value === undefined) return "";
  const oid = dottedOid(type.getValue());
  const known = attributeType(oid);
  const isText = TEXTS.some((each) => value instanceof each);
  if (known !== undefined && isText) return `${known.names[0]}=${escapeValue((value as Utf8String).getValue())}`;
  // The form of RFC 4514 section 2.4, which keeps the string type.
  return `${oid}=#${Buffer.from(value.toBER()).toString("hex")}`;
}

function childrenOf(block: BaseBlock, kind: typeof Sequence | typeof Asn1Set): readonly BaseBlock[] {
  return block instanceof kind ? block.valueBlock.value : [];
}

function escapeValue(text: string): string {
  const last = text.length - 1;
  return text.replaceAll(/[\\",+;<> #]|\p{Cc}/gu, (character, index: number) => {
    if (/\p{Cc}/u.test(character)) return Buffer.from(character, "utf8").toString("hex").replaceAll(/../g, "\\$&");
    const isAtEdge = index === 0 || (index === last && character === " ");
    return isAtEdge || !/[ #]/.test(character) ? `\\${character}` : character;
  });
}
