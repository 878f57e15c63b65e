import { readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import { pathToFileURL } from "node:url";
import type { ParseError } from "jsonc-parser";
import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";

/** What the file contains, unchecked. `.mjs` and `.ts` are run. */
export async function loadFile(path: string): Promise<unknown> {
  const extension = extname(path);
  if (extension === ".json") return parseJson(await readText(path), basename(path));
  if (extension === ".ts" && !runsTypeScript()) throw withoutTypes(path);
  if (extension === ".mjs" || extension === ".ts") return runModule(path);
  throw new CliError(EXIT.usage, "config_kind", `${basename(path)}: expected a file that ends in .json, .mjs or .ts`);
}

async function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new CliError(EXIT.usage, "config_unreadable", `${path}: cannot be read (${cause.code})`, { cause });
  });
}

async function parseJson(text: string, name: string): Promise<unknown> {
  const { parse, printParseErrorCode } = await import("jsonc-parser");
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { disallowComments: true });
  const [first] = errors;
  if (first === undefined) return value;
  const { line, column } = placeOf(text, first.offset);
  // Without the text itself, which may hold a secret in the wrong place.
  const problem = printParseErrorCode(first.error)
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ")
    .toLowerCase();
  throw new CliError(EXIT.usage, "config_syntax", `${name}: line ${line}, column ${column}: not JSON (${problem})`);
}

function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Node 22.18 and newer strip types. */
function runsTypeScript(): boolean {
  const mode: unknown = Reflect.get(process.features, "typescript");
  return mode !== undefined && mode !== false;
}

function withoutTypes(path: string): CliError {
  return new CliError(
    EXIT.usage,
    "config_typescript",
    `${basename(path)}: Node ${process.versions.node} runs no TypeScript`,
    {
      hint: "Use Node 22.18 or newer, or write the configuration as .mjs or .json",
    },
  );
}

async function runModule(path: string): Promise<unknown> {
  const module: unknown = await import(pathToFileURL(path).href).catch((cause: unknown) => {
    const message = cause instanceof Error ? cause.message : "it threw something that is not an Error";
    throw new CliError(EXIT.usage, "config_failed", `${basename(path)}: ${message}`, { cause });
  });
  const config: unknown = Reflect.get(Object(module), "default");
  if (config !== undefined) return config;
  throw new CliError(
    EXIT.usage,
    "config_no_default",
    `${basename(path)}: expected a default export, and there is none`,
  );
}
