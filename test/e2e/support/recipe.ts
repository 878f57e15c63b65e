import { readFileSync } from "node:fs";

/** How many lines of its own a user writes for a recipe: without imports, comments, empty lines and lines of only braces. */
export function countLines(path: string): number {
  const text = readFileSync(new URL(`../../../examples/${path}`, import.meta.url), "utf8");
  const code = text.replaceAll(/^import [^;]+;$/gm, "").replaceAll(/\/\*\*.*?\*\//gs, "");
  const lines = code.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("//")).length;
}
