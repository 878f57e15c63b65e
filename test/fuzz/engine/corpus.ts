import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("../corpus", import.meta.url));
/** A longer one is not kept. */
const MAX_BYTES = 2048;
/** More inputs of one target are not kept. */
const MOST = 40;

/** A kept input. Its name is its hash, or says which fault it found. */
export interface KeptInput {
  readonly name: string;
  readonly input: Uint8Array;
}

/**
 * The kept inputs of a target. Each line of its file has a name, and the bytes as a JSON string with one character for each, so that
 * a person can read them.
 */
export function readCorpus(target: string, folder: string = FOLDER): readonly KeptInput[] {
  const path = fileOf(target, folder);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => readLine(line));
}

/** The names of the targets that have kept inputs. */
export function corpusNames(folder: string = FOLDER): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((file) => (file.endsWith(".txt") ? [file.slice(0, -".txt".length)] : []));
}

/** The name of a kept input that found no fault. */
export function hashName(input: Uint8Array): string {
  return createHash("sha256").update(input).digest("hex").slice(0, 12);
}

/** Keeps an input, unless it is too long or there are enough. Returns whether it was written. */
export function keepInput(target: string, input: Uint8Array, name = hashName(input), folder: string = FOLDER): boolean {
  const kept = readCorpus(target, folder);
  const isKnown = kept.some((each) => Buffer.compare(each.input, input) === 0);
  if (input.length > MAX_BYTES || isKnown || kept.length >= MOST) return false;
  mkdirSync(folder, { recursive: true });
  const all = [...kept, { name, input }].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  // A run that is stopped here leaves the old file or the new one.
  const partial = `${fileOf(target, folder)}.partial`;
  writeFileSync(partial, all.map(lineOf).join(""));
  renameSync(partial, fileOf(target, folder));
  return true;
}

function fileOf(target: string, folder: string): string {
  return join(folder, `${target}.txt`);
}

function lineOf({ name, input }: KeptInput): string {
  const text = JSON.stringify(Buffer.from(input).toString("latin1"));
  // Other characters than those of ASCII may be changed by an editor.
  const ascii = text.replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `${name} ${ascii}\n`;
}

function readLine(line: string): KeptInput {
  const space = line.indexOf(" ");
  const text = String(JSON.parse(line.slice(space + 1)));
  return { name: line.slice(0, space), input: new Uint8Array(Buffer.from(text, "latin1")) };
}
