import { MARKER } from "./leaks.ts";
import { insertWord, mutateBytes } from "./mutate-bytes.ts";
import { mutateDer } from "./mutate-der.ts";
import { mutateJson } from "./mutate-json.ts";
import { mutateText } from "./mutate-text.ts";
import type { Random } from "./random.ts";
import type { Structure } from "./target.ts";

/** What a new input is made of. */
export interface Material {
  readonly structure: Structure;
  /** Inputs that the target has seen. */
  readonly pool: readonly Uint8Array[];
  /** Words of the format. */
  readonly words: readonly string[];
}

/** A new input: one of the pool, changed. Every eighth has the marker of a secret in it. */
export function mutate({ structure, pool, words }: Material, random: Random): Uint8Array {
  const input = pool.length === 0 ? new Uint8Array() : random.pick(pool);
  const changed = change(structure, input, random, words, pool);
  return random.chance(8) ? withMarker(structure, changed, random) : changed;
}

function change(
  structure: Structure,
  input: Uint8Array,
  random: Random,
  words: readonly string[],
  pool: readonly Uint8Array[],
): Uint8Array {
  // Most inputs must keep their structure, or no more than the outermost check would ever refuse them.
  const structured = random.chance(4) ? undefined : changeStructure(structure, input, random, words);
  if (structured !== undefined) return structured;
  if (words.length > 0 && random.chance(3)) return insertWord(input, random, words);
  if (structure !== "bytes" && structure !== "der" && !random.chance(3)) {
    return bytesOf(mutateText(textOf(input), random));
  }
  return mutateBytes(input, random, pool);
}

function changeStructure(
  structure: Structure,
  input: Uint8Array,
  random: Random,
  words: readonly string[],
): Uint8Array | undefined {
  switch (structure) {
    case "json": {
      const json = mutateJson(textOf(input), random, words);
      return json === undefined ? undefined : bytesOf(json);
    }
    case "jwt":
      return changePart(input, random, (json) => mutateJson(json, random, words));
    case "der":
      return mutateDer(input, random);
    case "pem":
      return changeBlock(input, random);
    case "text":
    case "bytes":
      return undefined;
  }
}

function withMarker(structure: Structure, input: Uint8Array, random: Random): Uint8Array {
  const inJson = (json: string): string | undefined => {
    const texts = [...json.matchAll(/"((?:[^"\\]|\\.)*)"(?!\s*:)/g)];
    if (texts.length === 0) return undefined;
    const { 0: found, index } = random.pick(texts);
    return `${json.slice(0, index)}"${MARKER}"${json.slice(index + found.length)}`;
  };
  if (structure === "json") {
    const json = inJson(textOf(input));
    if (json !== undefined) return bytesOf(json);
  }
  if (structure === "jwt") return changePart(input, random, inJson) ?? insertWord(input, random, [MARKER]);
  return insertWord(input, random, [MARKER]);
}

/** Changes the JSON in a part of a compact JWS. */
function changePart(
  input: Uint8Array,
  random: Random,
  change: (json: string) => string | undefined,
): Uint8Array | undefined {
  const parts = textOf(input).split(".");
  const index = random.int(Math.min(2, parts.length));
  const json = change(Buffer.from(parts[index] ?? "", "base64url").toString("utf8"));
  return json === undefined ? undefined : bytesOf(parts.with(index, Buffer.from(json).toString("base64url")).join("."));
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\s([^-]*)-----END \1-----/g;

/** Changes the DER in a block of PEM. */
function changeBlock(input: Uint8Array, random: Random): Uint8Array | undefined {
  const text = textOf(input);
  const blocks = [...text.matchAll(BLOCK)];
  if (blocks.length === 0) return undefined;
  const { 0: whole, 1: label = "", 2: body = "", index } = random.pick(blocks);
  const der = mutateDer(Buffer.from(body, "base64"), random);
  if (der === undefined) return undefined;
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  const block = [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`].join("\n");
  return bytesOf(text.slice(0, index) + block + text.slice(index + whole.length));
}

/** Latin-1 keeps every byte, so that a change of the text changes nothing else. */
function textOf(input: Uint8Array): string {
  const utf8 = Buffer.from(input).toString("utf8");
  return utf8.includes("\ufffd") ? Buffer.from(input).toString("latin1") : utf8;
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "utf8"));
}
