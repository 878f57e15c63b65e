import { isDeepStrictEqual } from "node:util";
import type { Node } from "jsonc-parser";
import { itemStyle, writeItem, writeMember, type JsonStyle } from "./json-style.ts";

/** Replaces a part of a text. */
export interface Edit {
  readonly offset: number;
  readonly length: number;
  readonly content: string;
}

/** What is to be changed, as JSON paths and values. */
export type JsonChange =
  | { readonly kind: "append"; readonly list: JsonPath; readonly value: object }
  | { readonly kind: "remove"; readonly list: JsonPath; readonly index: number }
  | { readonly kind: "replace"; readonly path: JsonPath; readonly value: unknown }
  | { readonly kind: "set"; readonly object: JsonPath; readonly name: string; readonly value: string };

export type JsonPath = readonly (string | number)[];

/**
 * The edits of a JSON text for some changes, each as small as possible: everything else stays as it is, byte for byte. The paths are
 * those before any change.
 */
export async function planEdits(text: string, changes: readonly JsonChange[]): Promise<readonly Edit[]> {
  const { parseTree, findNodeAtLocation } = await import("jsonc-parser");
  const root = parseTree(text);
  const find = (path: JsonPath): Node => {
    const node = root === undefined ? undefined : findNodeAtLocation(root, [...path]);
    if (node === undefined) throw new TypeError(`the text has nothing at ${path.join(".")}`);
    return node;
  };
  return changes.map((change) => {
    if (change.kind === "append") return append(text, find(change.list), change.value);
    if (change.kind === "remove") return remove(find(change.list), change.index);
    if (change.kind === "set") return setMember(text, find(change.object), change.name, change.value);
    return replace(text, find(change.path), change.value);
  });
}

/** The text after the edits, which do not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((a, b) => b.offset - a.offset)
    .reduce((before, { offset, length, content }) => {
      return before.slice(0, offset) + content + before.slice(offset + length);
    }, text);
}

/** Makes sure that an edited text says what it should. Both are written once, because -0 and 1e999 are not written as they were read. */
export function requireValue(text: string, expected: unknown): void {
  const [said, meant] = [JSON.parse(text) as unknown, expected].map(
    (value) => JSON.parse(JSON.stringify(value)) as unknown,
  );
  if (isDeepStrictEqual(said, meant)) return;
  throw new TypeError("the edited text does not say what it should");
}

function append(text: string, list: Node, value: object): Edit {
  const last = list.children?.at(-1);
  if (last === undefined) throw new TypeError("the list is empty");
  const style = itemStyle(text, last);
  const offset = last.offset + last.length;
  return { offset, length: 0, content: `,${between(text, list, style)}${writeItem(value, style)}` };
}

/** The white space before the last item of a list. */
function between(text: string, list: Node, { pad }: JsonStyle): string {
  const [last, previous] = (list.children ?? []).toReversed();
  if (last === undefined) return pad;
  const from = previous === undefined ? list.offset + 1 : previous.offset + previous.length;
  const space = text.slice(from, last.offset).replace(",", "");
  // `[{ … }]` has no space before its only item.
  return space === "" ? pad : space;
}

function remove(list: Node, index: number): Edit {
  const items = list.children ?? [];
  const [before, item, after] = [items[index - 1], items[index], items[index + 1]];
  if (item === undefined) throw new TypeError(`the list has no item ${index}`);
  if (before !== undefined) {
    const offset = before.offset + before.length;
    return { offset, length: item.offset + item.length - offset, content: "" };
  }
  const end = after === undefined ? item.offset + item.length : after.offset;
  return { offset: item.offset, length: end - item.offset, content: "" };
}

function replace(text: string, node: Node, value: unknown): Edit {
  const { offset, length } = node;
  return { offset, length, content: writeItem(value, itemStyle(text, node)) };
}

function setMember(text: string, object: Node, name: string, value: string): Edit {
  const members = object.children ?? [];
  const present = members.find((member) => member.children?.[0]?.value === name)?.children?.[1];
  if (present !== undefined) {
    return { offset: present.offset, length: present.length, content: JSON.stringify(value) };
  }
  const last = members.at(-1);
  if (last === undefined) throw new TypeError("the object is empty");
  const style = itemStyle(text, object);
  return {
    offset: last.offset + last.length,
    length: 0,
    content: `,${between(text, object, style)}${writeMember(name, value, style)}`,
  };
}
