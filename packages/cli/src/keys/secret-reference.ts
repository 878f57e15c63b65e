import { fileURLToPath } from "node:url";
import { ConfigurationError } from "@signpost/core";
import { afterScheme, readRegularFile } from "@signpost/core/adapter";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT } from "../program/exit-codes.ts";
import { askSecret } from "../program/prompts.ts";

/**
 * A function that reads the secret of `env:NAME` or `file:PATH`, or that returns what a person types for `prompt:`.
 * Undefined for anything else.
 */
export async function secretReader(
  reference: string,
  context: CliContext,
): Promise<(() => Promise<string>) | undefined> {
  const name = afterScheme(reference, "env");
  if (name !== undefined) return async () => variable(name, context.env);
  const file = afterScheme(reference, "file");
  if (file !== undefined) return () => fromFile(file);
  if (afterScheme(reference, "prompt") !== "") return undefined;
  // Now, because an adapter does not wait long for a secret.
  const typed = await askSecret(context, "Secret");
  return async () => typed;
}

/** A function that gives a secret, with the place in the configuration that names it. */
export interface PlacedSecret {
  (): Promise<string>;
  /** `adapters.pkcs11.pin (file:pin)`. */
  readonly place: string;
}

/** Where a secret of the configuration comes from. Undefined for a function of a configuration that is code. */
export function secretPlace(secret: unknown): string | undefined {
  const place: unknown = typeof secret === "function" ? Reflect.get(secret, "place") : undefined;
  return typeof place === "string" ? place : undefined;
}

/** The value of a variable that holds a secret. */
export function variable(name: string, env: NodeJS.ProcessEnv): string {
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  // The name of a variable is no secret. What was written in its place may be one.
  const shown = /^[A-Z_][A-Z0-9_]*$/.test(name) ? `The variable ${name}` : "The variable that env: names";
  throw new CliError(EXIT.usage, "secret_missing", `${shown} is not set, and should hold a secret`);
}

/** More than any secret has. */
const MAX_BYTES = 65_536;

/** Without a byte order mark, and without one line end. A FIFO or a device is refused: it may never answer. */
async function fromFile(place: string): Promise<string> {
  const path = place.startsWith("/") ? pathOf(`file:${place}`) : place;
  const bytes = await readRegularFile("secret", path, MAX_BYTES).catch((cause: unknown) => {
    throw new CliError(EXIT.usage, "secret_missing", `The file of a secret cannot be read (${reasonOf(cause)})`, {
      cause,
    });
  });
  return textOf(bytes).replace(/\r?\n$/, "");
}

/** Bytes that are not UTF-8 would become another secret, and a token would count a wrong PIN. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CliError(EXIT.usage, "secret_missing", "The file of a secret is not UTF-8", { cause });
  }
}

/** Without the path. */
function reasonOf(cause: unknown): string {
  return cause instanceof ConfigurationError ? cause.message : String(Reflect.get(Object(cause), "code"));
}

function pathOf(reference: string): string {
  try {
    return fileURLToPath(reference);
  } catch (cause) {
    const hint = "Write file:secrets/pin or file:///run/secrets/pin";
    throw new CliError(EXIT.usage, "secret_missing", "The file of a secret has no path that can be read", {
      cause,
      hint,
    });
  }
}
