import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ConfigurationError } from "@signpost/core";
import type { Pkcs11Pin } from "./pin.ts";
import type { Pkcs11Uri } from "./uri.ts";

/** What an adapter knows about PINs that a URI does not say. */
export interface PinOptions {
  readonly pin?: Pkcs11Pin | undefined;
  readonly pinSource?: ((source: string) => Promise<string | Uint8Array> | string | Uint8Array) | undefined;
  readonly allowPinValue?: boolean | undefined;
}

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Where the PIN for a URI comes from: its `pin-source`, its `pin-value` where that is allowed, or the adapter's own. A file is
 * read again on every login. One line end after the PIN does not belong to it.
 *
 * @throws ConfigurationError
 */
export function pinFor({ pinSource, pinValue }: Pkcs11Uri, options: PinOptions): Pkcs11Pin {
  if (pinSource !== undefined && pinValue !== undefined) {
    throw new ConfigurationError("uri", "expected pin-source or pin-value, not both (RFC 7512 section 2.4)");
  }
  if (pinValue !== undefined) {
    if (options.allowPinValue === true) return pinValue;
    throw new ConfigurationError(
      "uri",
      "pin-value: expected pin-source instead; a PIN in a URI ends up in logs (allowPinValue permits it)",
    );
  }
  if (pinSource !== undefined) return pinFromSource(pinSource, options);
  if (options.pin !== undefined) return options.pin;
  throw new ConfigurationError("pin", "expected it as an option, or a pin-source in the URI");
}

function pinFromSource(source: string, { pinSource }: PinOptions): Pkcs11Pin {
  if (source.startsWith("|")) {
    throw new ConfigurationError("uri", "pin-source: expected a URI; commands are not run");
  }
  if (source.startsWith("file:")) {
    const path = filePath(source);
    return async () => withoutLineEnd(await readFile(path));
  }
  if (pinSource === undefined) {
    throw new ConfigurationError("uri", "pin-source: expected a file: URI; others need the option pinSource");
  }
  return () => pinSource(source);
}

function filePath(source: string): string {
  try {
    return fileURLToPath(new URL(source));
  } catch {
    throw new ConfigurationError("uri", "pin-source: expected file: and an absolute path");
  }
}

function withoutLineEnd(bytes: Uint8Array): Uint8Array {
  let { length } = bytes;
  if (bytes[length - 1] === NEWLINE) length -= 1;
  if (length < bytes.length && bytes[length - 1] === CARRIAGE_RETURN) length -= 1;
  return bytes.subarray(0, length);
}
