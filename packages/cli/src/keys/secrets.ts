import { SignpostError } from "@signpost/core";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT } from "../program/exit-codes.ts";
import { askSecret, canAsk } from "../program/prompts.ts";
import type { AdapterOptions } from "./adapters.ts";
import { secretReader, variable } from "./secret-reference.ts";

/** Asks a person for the PIN of the token that a URI names. */
export type AskPin = (token: string) => Promise<string>;

/** Asks for the PIN of each token once, however many of its keys are opened. */
export function pinAsker(context: CliContext): AskPin {
  const pins = new Map<string, Promise<string>>();
  return (token) => {
    const pin = pins.get(token) ?? askSecret(context, `PIN of ${token}`);
    pins.set(token, pin);
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
  const [, query = ""] = uri.split("?");
  return `${tokenIn(uri)}?${query}`;
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
  if (source?.startsWith("env:") === true) {
    const pin = variable(source.slice("env:".length), context.env);
    return { pinSource: () => pin };
  }
  const isAsked = source === undefined ? options["pin"] === undefined && canAsk(context) : source.startsWith("prompt:");
  if (!isAsked) return {};
  // Before the key is opened, because the adapter waits ten seconds for a PIN.
  const pin = await ask(tokenIn(uri));
  return source === undefined ? { pin } : { pinSource: () => pin };
}

/** The PIN of a PKCS#11 URI, from wherever the URI, the options or a person gives it. Undefined if nothing does. */
export async function pinReader(
  uri: string,
  options: AdapterOptions,
  context: CliContext,
  ask: AskPin,
): Promise<string | undefined> {
  const { pin, pinSource } = { ...options, ...(await pinOptions(uri, options, context, ask)) };
  const source = pinSourceIn(uri);
  if (source?.startsWith("file:") === true) return (await secretReader(source, context))?.();
  const read = source === undefined ? pin : pinSource;
  if (typeof read === "function") return String(await read(source));
  return typeof read === "string" ? read : undefined;
}

/** RFC 7512 section 2.4. */
function pinSourceIn(uri: string): string | undefined {
  const value = /[?&]pin-source=([^&]*)/.exec(uri)?.[1];
  return value === undefined ? undefined : decoded(value);
}

/** The attributes of the token, without those of the key. */
function tokenIn(uri: string): string {
  const [path = ""] = uri.slice("pkcs11:".length).split("?");
  const attributes = path.split(";").filter((attribute) => !/^(?:object|id|type)=/.test(attribute));
  return attributes.map(decoded).join(", ") || "the token";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
