import { isUint8Array } from "node:util/types";
import { SignpostError } from "@signpost/core";
import { afterScheme, withinDeadline } from "@signpost/core/adapter";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT } from "../program/exit-codes.ts";
import { askSecret, canAsk } from "../program/prompts.ts";
import type { AdapterOptions } from "./adapters.ts";
import { secretPlace, secretReader, variable } from "./secret-reference.ts";

/** Asks a person for the PIN of the token of a URI. */
export type AskPin = (uri: string) => Promise<string>;

/**
 * Asks for the PIN of each token once, however many of its keys are opened. Tokens of two modules may have the same name, and
 * each gets only its own PIN.
 */
export function pinAsker(context: CliContext): AskPin {
  const pins = new Map<string, Promise<string>>();
  return (uri) => {
    const place = tokenPlace(uri);
    const pin = pins.get(place) ?? askSecret(context, `PIN of ${tokenName(uri)}`);
    pins.set(place, pin);
    return pin;
  };
}

/** Opens a key of a URI, unless its PIN is known to be wrong. */
export type TryPin = <T>(uri: string, open: () => Promise<T>) => Promise<T>;

/** Tries a PIN that turns out to be wrong once, however many keys of the token have it: each wrong try brings the lock nearer. */
export function pinTrier(): TryPin {
  const wrong = new Set<string>();
  return async (uri, open) => {
    const place = tokenPlace(uri);
    if (wrong.has(place)) {
      throw new CliError(
        EXIT.backend,
        "pin_incorrect",
        "not tried, because this PIN was wrong for another key of the token",
        {
          hint: "Correct the PIN first",
        },
      );
    }
    return open().catch((error: unknown) => {
      if (error instanceof SignpostError && error.code === "pin_incorrect") wrong.add(place);
      throw error;
    });
  };
}

/** The URI without the attributes of the key: the token, the module, and where the PIN is. */
function tokenPlace(uri: string): string {
  // A value of the query may have a "?" too.
  const [, ...query] = uri.split("?");
  return `${tokenAttributes(uri).join(";")}?${query.join("?")}`;
}

/**
 * Options with the PIN of a PKCS#11 URI: `pin-source=file:` is read by the adapter, `pin-source=env:NAME` and
 * `pin-source=prompt:` here. Without `pin-source` and without a PIN in the options, a person at a terminal is asked.
 */
export async function pinOptions(
  uri: string,
  options: AdapterOptions,
  context: CliContext,
  ask: AskPin,
): Promise<AdapterOptions> {
  const source = pinSourceIn(uri);
  const name = afterScheme(source, "env");
  if (name !== undefined) {
    const pin = variable(name, context.env);
    return { pinSource: () => pin };
  }
  const isAsked =
    source === undefined
      ? options["pin"] === undefined && canAsk(context)
      : afterScheme(source, "prompt") !== undefined;
  if (!isAsked) return {};
  // Before the key is opened, because the adapter waits ten seconds for a PIN.
  const pin = await ask(uri);
  return source === undefined ? { pin } : { pinSource: () => pin };
}

/** Where a PIN comes from, for people. Undefined if the adapter itself reads it from there, or calls the function of a program. */
export function pinPlace(uri: string, { pin }: AdapterOptions): string | undefined {
  const source = pinSourceIn(uri);
  const name = afterScheme(source, "env");
  if (name !== undefined) return `the variable ${name}`;
  if (source !== undefined) return afterScheme(source, "prompt") === undefined ? undefined : "the terminal";
  return pin === undefined ? "the terminal" : secretPlace(pin);
}

/** How long a function may take for a PIN, as in the adapter. Milliseconds. */
const PIN_MS = 10_000;

/** The PIN of a PKCS#11 URI, from wherever the URI, the options or a person gives it. Undefined if nothing does. */
export async function pinReader(
  uri: string,
  options: AdapterOptions,
  context: CliContext,
  ask: AskPin,
): Promise<string | undefined> {
  const { pin, pinSource } = { ...options, ...(await pinOptions(uri, options, context, ask)) };
  const source = pinSourceIn(uri);
  if (source !== undefined && afterScheme(source, "file") !== undefined) {
    return (await secretReader(source, context))?.();
  }
  const read = source === undefined ? pin : pinSource;
  const { signal } = context;
  const deadline = { deadlineMs: PIN_MS, signal, message: `the PIN did not arrive within ${PIN_MS} ms` };
  const given: unknown =
    typeof read === "function" ? await withinDeadline(async () => read(source) as unknown, deadline) : read;
  // As the adapter takes it: text, or bytes of UTF-8.
  if (isUint8Array(given)) return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(given);
  return typeof given === "string" ? given : undefined;
}

/** RFC 7512 section 2.4. */
function pinSourceIn(uri: string): string | undefined {
  const value = /[?&]pin-source=([^&]*)/.exec(uri)?.[1];
  return value === undefined ? undefined : decoded(value);
}

/** The attributes of the token, without those of the key. */
function tokenAttributes(uri: string): readonly string[] {
  const [path = ""] = uri.slice("pkcs11:".length).split("?");
  return path.split(";").filter((attribute) => !/^(?:object|id|type)=/.test(attribute));
}

/** An attribute that may be shown. After a wrong separator, which may be escaped, a value holds more than was meant: a PIN. */
const SHOWN = /^(?:token|serial|manufacturer|model|slot-id)=(?!.*pin[-_ ]?(?:value|source))[^=?&;,|\p{Cc}]*$/iu;

/** The token for people. */
function tokenName(uri: string): string {
  const attributes = tokenAttributes(uri).map(decoded);
  return attributes.length > 0 && attributes.every((attribute) => SHOWN.test(attribute))
    ? attributes.join(", ")
    : "the token";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
