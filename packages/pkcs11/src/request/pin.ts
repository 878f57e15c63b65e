import { isUint8Array } from "node:util/types";
import { ConfigurationError, SignerError } from "@signpost/core";
import { memberOf, safeCause, withinDeadline } from "@signpost/core/adapter";

/** A PIN, or a function that returns it. The function is called on every new login, so a changed PIN needs no restart. */
export type Pkcs11Pin = string | Uint8Array | (() => Promise<string | Uint8Array> | string | Uint8Array);

/** Where the PIN of one signer comes from. */
export interface PinSource {
  /** Its name for people. Reveals nothing about the PIN: `the option pin`, `pin-source file /run/secrets/pin`. */
  readonly name: string;
  /** Asks the source for the PIN now. */
  read(): Promise<string>;
  /** Equal for sources that are the same and give the same PIN. */
  readonly identity: unknown;
}

/** The caller's PIN source has this long to answer. Milliseconds. */
const PIN_TIMEOUT_MS = 10_000;

/** Where a PIN that the caller gave comes from. @throws ConfigurationError for anything that is not a PIN. */
export function pinSource(pin: unknown, name: string = "the option pin"): PinSource {
  if (typeof pin !== "function") {
    const fixed = pinText(pin);
    return { name, read: async () => fixed, identity: Symbol(name) };
  }
  const read = async (): Promise<string> => pinText(await pin());
  return { name: name === "the option pin" ? "the function of the option pin" : name, read, identity: pin };
}

/** The PIN, or an error that says which source gave none and why. */
export async function readPin(source: PinSource): Promise<string> {
  const deadlineMs = PIN_TIMEOUT_MS;
  try {
    return await withinDeadline(() => source.read(), { deadlineMs, message: `no answer within ${deadlineMs} ms` });
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw namedError(cause, source);
    throw new SignerError("unavailable", `${source.name} gave no PIN: ${reasonOf(cause)}. It is asked again later`, {
      cause: causeOf(cause),
    });
  }
}

/** The source gave something that is not a PIN. Its name says which source it was. */
function namedError(cause: ConfigurationError, { name }: PinSource): ConfigurationError {
  const expected = cause.message.slice(cause.argument.length + 2);
  return new ConfigurationError("pin", `${name}: ${expected}`, { cause, code: cause.code });
}

/** The client of a secret store may attach its request and its answer to its errors, and repeat them in its message. */
function causeOf(cause: unknown): unknown {
  return cause instanceof SignerError ? cause : safeCause(cause, { members: ["code"], hides: () => true });
}

/** Only what cannot repeat a secret. */
function reasonOf(cause: unknown): string {
  if (cause instanceof SignerError) return cause.message;
  const code = memberOf(cause, "code");
  return typeof code === "string" && /^E[A-Z0-9]{1,30}$/.test(code) ? code : "it failed";
}

// pkcs11js takes the PIN as a string and hands its UTF-8 bytes to the module.
function pinText(pin: unknown): string {
  const text = isUint8Array(pin) ? decode(pin) : pin;
  // A lone surrogate has no UTF-8 encoding. All of them become the same bytes, and so the same PIN for the token.
  if (typeof text !== "string" || text === "" || text.includes("\0") || !text.isWellFormed()) {
    throw new ConfigurationError(
      "pin",
      "expected a well-formed string or bytes of UTF-8, not empty and without NUL, or a function that returns them",
    );
  }
  // Node puts it in place of bytes that it cannot decode, in a variable or in a file. The token would count a wrong PIN.
  if (text.includes("\uFFFD")) {
    throw new ConfigurationError(
      "pin",
      "expected a PIN in UTF-8, got one with U+FFFD, which stands for bytes that are not UTF-8",
    );
  }
  return text;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Says what is unusual at the ends of a refused PIN, as a sentence. Empty if nothing is. Never contains the PIN. */
export function oddEnds(pin: string): string {
  const odd = ODD_ENDS.find(([ends]) => ends.test(pin))?.[1];
  return odd === undefined ? "" : ` It ${odd}: check whether that is part of the PIN.`;
}

const ODD_ENDS: readonly (readonly [ends: RegExp, what: string])[] = [
  [/^\uFEFF/, "begins with a byte order mark"],
  [/[\r\n]$/, "ends with a line end"],
  [/^\s|\s$/, "begins or ends with white space"],
  [/^(["']).*\1$/, "is in quotes"],
];
