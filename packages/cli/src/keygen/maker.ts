import { SignerError } from "@signpost/core";
import { memberOf, textMember } from "@signpost/core/adapter";
import type { AdapterOptions } from "../keys/adapters.ts";
import type { OpenKey } from "../keys/open-key.ts";
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
  /** Opens a key as the adapter does. */
  readonly open: OpenKey;
  /** What Ctrl-C may leave behind from now on, for people. */
  readonly leaves: (text: string) => void;
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

/** There is no such key, or none that signs. */
export const NO_KEY: readonly string[] = ["key_not_found", "ambiguous_key", "unsupported_key"];

/** Credentials that may make keys need not be allowed to read every key, and a name may be that of a disabled one. */
export const NO_CLOUD_KEY: readonly string[] = [...NO_KEY, "access_denied", "key_disabled"];

/**
 * Whether a URI already opens a key. So the adapter refuses what it would refuse later, before a key is made: a mistake in the
 * URI, a module that is not allowed, an endpoint without TLS, a wrong PIN. `noKey`: the codes that mean that it does not.
 */
export async function opensKey(open: OpenKey, uri: string, noKey: readonly string[] = NO_KEY): Promise<boolean> {
  const key = await open(uri).catch((error: unknown) => {
    if (error instanceof SignerError && noKey.includes(error.code) && !isOwnRefusal(error)) return undefined;
    throw error;
  });
  await key?.close();
  return key !== undefined;
}

/**
 * Whether the adapter itself denied access, and no service: it sends credentials to no source without TLS, and found none that it could
 * send. The SDKs of the clouds would send them.
 */
function isOwnRefusal({ code, cause }: SignerError): boolean {
  if (code !== "access_denied") return false;
  const statuses = [memberOf(memberOf(cause, "$metadata"), "httpStatusCode"), memberOf(cause, "code")];
  const isAnswer = statuses.some((status) => typeof status === "number");
  return !isAnswer && !textMember(cause, "message").startsWith("HTTP status ");
}

/** Something is in the place of the new key. */
export function exists(what: string, hint: string): CliError {
  return new CliError(EXIT.usage, "key_exists", `${what} exists, and is not replaced`, { hint });
}

/** For a call whose answer did not arrive. */
export const LOOK_FIRST = "The key may have been made: look in the backend before you try again";

/** What shows that a message repeats a request, as that of a proxy does. */
const REPEATS = /\b(?:authorization|bearer|x-[a-z-]*token)\b|\beyJ|ya29\./i;

/** The backend refused. */
export function failed(what: string, cause: unknown, hint?: string): CliError {
  const name = cause instanceof Error ? cause.name : "Error";
  const message = cause instanceof Error ? cause.message : "no message";
  const told = message === "" || REPEATS.test(message) ? name : `${name}: ${message}`;
  return new CliError(EXIT.backend, "keygen_failed", `${what}: ${told}`, { cause, hint });
}
