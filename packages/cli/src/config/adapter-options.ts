import { ConfigurationError, SignerError } from "@signpost/core";
import { isPlainObject } from "@signpost/core/adapter";
import { type PlacedSecret, secretReader } from "../keys/secret-reference.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";

/** Options whose values are secrets, in all adapters. Each may be a function. */
const SECRETS: ReadonlySet<string> = new Set(["pin", "token", "secretId"]);

/**
 * Options of an adapter with its secrets resolved: a configuration names where a secret is, and never contains it. In a
 * configuration that is code, a secret may also be a function.
 */
export async function resolveSecrets(path: string, value: unknown, context: CliContext): Promise<unknown> {
  if (!isPlainObject(value)) return value;
  const members = Object.entries(value).map(async ([name, member]) => {
    const place = `${path}.${name}`;
    if (name === "allowPinValue" && member === true) {
      throw pinInUri(place);
    }
    const resolve = SECRETS.has(name) ? reference : resolveSecrets;
    return [name, await resolve(place, member, context)] as const;
  });
  return Object.fromEntries(await Promise.all(members));
}

async function reference(place: string, value: unknown, context: CliContext): Promise<unknown> {
  if (value === undefined || typeof value === "function") return value;
  if (typeof value !== "string") throw notReference(place);
  const reader = await secretReader(value, context);
  if (reader === undefined) throw notReference(place);
  const read = (): Promise<string> => reader().catch((cause: unknown) => Promise.reject(told(place, cause)));
  const placed: PlacedSecret = Object.assign(read, { place: `${place} (${value})` });
  return placed;
}

/** What `resolveSecrets` refuses, without reading a secret or asking for one. */
export function secretMistakes(adapters: unknown): readonly ConfigurationError[] {
  return mistakesIn("adapters", adapters);
}

function mistakesIn(path: string, value: unknown): readonly ConfigurationError[] {
  if (!isPlainObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const place = `${path}.${name}`;
    if (name === "allowPinValue" && member === true) return [pinInUri(place)];
    if (!SECRETS.has(name)) return mistakesIn(place, member);
    const isReference = typeof member === "string" && REFERENCE.test(member);
    return member === undefined || typeof member === "function" || isReference ? [] : [notReference(place)];
  });
}

/** As `secretReader` reads it. */
const REFERENCE = /^(?:env:|file:|prompt:$)/;

function pinInUri(place: string): ConfigurationError {
  return new ConfigurationError(place, "expected no PIN in a URI; use pin-source=file: or pin-source=env:");
}

function notReference(place: string): ConfigurationError {
  return new ConfigurationError(place, "expected where the secret is: env:NAME, file:PATH or prompt:");
}

/** Adapters pass on the message of no other error, since it may contain a secret. */
function told(place: string, cause: unknown): unknown {
  return cause instanceof CliError ? new SignerError("unavailable", `${place}: ${cause.message}`, { cause }) : cause;
}
