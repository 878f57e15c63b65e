import type { Node } from "jsonc-parser";

/** How a part of a JSON text is written. */
export interface JsonStyle {
  /** The part is on one line. */
  readonly isInline: boolean;
  /** The whole text is on one line. */
  readonly isOneLine: boolean;
  /** What separates two parts on a line: a space, or nothing in a minified text. */
  readonly pad: string;
  /** What is inside of the braces of an object on one line. */
  readonly brace: string;
  /** White space before the line where the part begins. */
  readonly indent: string;
  /** What each level adds to it. */
  readonly unit: string;
  readonly eol: string;
}

/** The style of an item or an object, so that what comes next to it looks the same. */
export function itemStyle(text: string, node: Node): JsonStyle {
  const own = text.slice(node.offset, node.offset + node.length);
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const lineStart = text.lastIndexOf("\n", node.offset - 1) + 1;
  const indent = /^[ \t]*/.exec(text.slice(lineStart))?.[0] ?? "";
  const member = /\n([ \t]+)/.exec(own)?.[1];
  const anywhere = /\n([ \t]+)/.exec(text)?.[1] ?? "  ";
  const unit =
    member?.startsWith(indent) === true && member.length > indent.length ? member.slice(indent.length) : anywhere;
  const pad = /[":,]\s/.test(text) ? " " : "";
  return {
    isInline: !own.includes("\n"),
    isOneLine: !text.trim().includes("\n"),
    pad,
    brace: own.startsWith("{") && !/^\{\s/.test(own) ? "" : pad,
    indent,
    unit,
    eol,
  };
}

/** A value in a style. Its first line has no white space before it. */
export function writeItem(value: unknown, style: JsonStyle): string {
  if (style.isInline && (style.isOneLine || isFlat(value))) return inline(value, style);
  return lines(value, style, style.indent);
}

export function writeMember(name: string, value: string, { pad }: JsonStyle): string {
  return `${JSON.stringify(name)}:${pad}${JSON.stringify(value)}`;
}

/** What has no list in it can be on one line, as an entry is. */
function isFlat(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !Array.isArray(value) && !Object.values(value).some((member) => Array.isArray(member));
}

function inline(value: unknown, style: JsonStyle): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const comma = `,${style.pad}`;
  if (Array.isArray(value)) return `[${value.map((item) => inline(item, style)).join(comma)}]`;
  const members = membersOf(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${style.pad}${inline(member, style)}`,
  );
  return members.length === 0 ? "{}" : `{${style.brace}${members.join(comma)}${style.brace}}`;
}

/** Lists, and objects with a list, have a line for each part. */
function lines(value: unknown, style: JsonStyle, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = indent + style.unit;
  const written = (part: unknown): string => {
    return style.isInline && isFlat(part) ? inline(part, style) : lines(part, style, inner);
  };
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const parts = Array.isArray(value)
    ? value.map((item) => written(item))
    : membersOf(value).map(([name, member]) => `${JSON.stringify(name)}: ${written(member)}`);
  if (parts.length === 0) return open + close;
  return [open, parts.map((part) => inner + part).join(`,${style.eol}`), indent + close].join(style.eol);
}

function membersOf(value: object): readonly (readonly [string, unknown])[] {
  return Object.entries(value).filter(([, member]) => member !== undefined);
}
