import { access, constants, readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import { pathToFileURL } from "node:url";
import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import { readJson } from "../program/json.ts";

/**
 * What the file contains, unchecked. `.mjs` and `.ts` are run. Node runs a module once, so a program that loads it again passes a
 * `version` that it did not pass before. Modules that this one imports are not run again.
 */
export async function loadFile(path: string, version?: number): Promise<unknown> {
  const extension = extname(path);
  if (extension === ".json") return parseJson(decodeText(await readBytes(path), path), basename(path));
  if (extension === ".ts" && !runsTypeScript()) throw withoutTypes(path);
  if (extension === ".mjs" || extension === ".ts") return runModule(path, version);
  // Without the name: in the place of a file there may be a key URI with a PIN.
  throw new CliError(EXIT.usage, "config_kind", "--config: expected a file that ends in .json, .mjs or .ts");
}

/** What a file contains. */
export function readBytes(path: string): Promise<Uint8Array> {
  return readFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw unreadable(path, cause);
  });
}

/** The text of a JSON file, without the byte order mark that some editors write (RFC 8259 section 8.1). */
export function decodeText(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CliError(EXIT.usage, "config_encoding", `${basename(path)}: expected UTF-8`, { cause });
  }
}

function unreadable(path: string, cause: NodeJS.ErrnoException): CliError {
  return new CliError(EXIT.usage, "config_unreadable", `${path}: cannot be read (${cause.code})`, { cause });
}

/** What the text of a JSON file says. */
export async function parseJson(text: string, name: string): Promise<unknown> {
  const read = await readJson(text);
  if ("value" in read) return read.value;
  const { fault, line, column, repeated } = read;
  // A name is shown, since only the operator writes a configuration.
  const problem = repeated === undefined ? fault : `${JSON.stringify(repeated)} is there twice in one object`;
  throw new CliError(EXIT.usage, "config_syntax", `${name}: line ${line}, column ${column}: ${problem}`);
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

async function runModule(path: string, version: number | undefined): Promise<unknown> {
  await access(path, constants.R_OK).catch((cause: NodeJS.ErrnoException) => {
    throw unreadable(path, cause);
  });
  const url = pathToFileURL(path);
  if (version !== undefined) url.searchParams.set("version", String(version));
  const module: unknown = await import(url.href).catch((cause: unknown) => {
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
