import { readFileSync } from "node:fs";

/** How many lines a user writes for a recipe, which is a file below `examples`: without imports, comments and empty lines. */
export function countLines(path: string): number {
  const text = readFileSync(new URL(`../../../examples/${path}`, import.meta.url), "utf8");
  const code = text.replaceAll(/^import [^;]+;$/gm, "").replaceAll(/\/\*\*.*?\*\//gs, "");
  const lines = code.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("//")).length;
}
