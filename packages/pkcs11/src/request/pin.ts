import { isUint8Array } from "node:util/types";
import { ConfigurationError } from "@signpost/core";

/** A PIN, or how to get it. A function is asked on every new login, so that a changed PIN needs no restart. */
export type Pkcs11Pin = string | Uint8Array | (() => Promise<string | Uint8Array> | string | Uint8Array);

/** Where the PIN of one signer comes from. */
export interface PinSource {
  read(): Promise<string>;
  /** The PIN itself where it cannot change, else the function: to tell whether two signers give the same one. */
  readonly identity: unknown;
}

/** Where a PIN that the caller gave comes from. @throws ConfigurationError for anything that is no PIN. */
export function pinSource(pin: unknown): PinSource {
  if (typeof pin === "function") return { read: async () => pinText(await pin()), identity: pin };
  const fixed = pinText(pin);
  return { read: async () => fixed, identity: fixed };
}

/** Whether a login with `proven` proves the PIN of `other` too. */
export function samePin(proven: PinSource | undefined, other: PinSource): boolean {
  return proven !== undefined && proven.identity === other.identity;
}

// pkcs11js takes the PIN as a string and hands its UTF-8 bytes to the module.
function pinText(pin: unknown): string {
  const text = isUint8Array(pin) ? decode(pin) : pin;
  if (typeof text !== "string" || text === "" || text.includes("\0")) {
    throw new ConfigurationError(
      "pin",
      "expected a string or bytes of UTF-8, not empty and without NUL, or a function that returns them",
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
