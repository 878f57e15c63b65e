import type { AdapterOptions } from "../keys/adapters.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT } from "../program/exit-codes.ts";

/** What a maker of keys gets. */
export interface KeyOrder {
  readonly uri: string;
  /** Options of the adapter, with secrets as functions. */
  readonly options: AdapterOptions;
  readonly context: CliContext;
  readonly newVersion: boolean;
  readonly protection: "hsm" | "software";
  readonly pin: () => Promise<string | undefined>;
}

/** Makes a key, and resolves to the URI that opens it. Never replaces anything. */
export type MakeKey = (order: KeyOrder) => Promise<string>;

export function refuse(message: string, hint?: string): CliError {
  return new CliError(EXIT.usage, "keygen", message, { hint });
}

/**
 * Refuses names in a URI that the adapter will refuse once the key is made, in another place than was meant. A name that is not known may
 * be a secret in the wrong place, so it is not printed.
 */
export function requireNames(part: string, given: readonly string[], known: readonly string[]): void {
  if (new Set(given).size === given.length && given.every((name) => known.includes(name))) return;
  throw refuse(
    `The ${part} of the URI has a name that is not known, or one twice`,
    `The names are ${known.join(", ")}`,
  );
}

/** Something is in the place of the new key. */
export function exists(what: string, hint: string): CliError {
  return new CliError(EXIT.usage, "key_exists", `${what} exists, and is not replaced`, { hint });
}

/** The backend refused. */
export function failed(what: string, cause: unknown): CliError {
  const name = cause instanceof Error ? cause.name : "Error";
  const message = cause instanceof Error ? cause.message : "no message";
  return new CliError(EXIT.backend, "keygen_failed", `${what}: ${name}: ${message}`, { cause });
}
