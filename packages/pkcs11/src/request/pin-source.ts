import { fileURLToPath } from "node:url";
import { ConfigurationError } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import { mayHoldPin, shown } from "./misplaced-pin.ts";
import { readPinFile } from "./pin-file.ts";
import { pinSource, type PinSource, type Pkcs11Pin } from "./pin.ts";
import type { Pkcs11Uri } from "./uri.ts";

type Resolve = (source: string) => Promise<string | Uint8Array> | string | Uint8Array;

/** Where an adapter gets a PIN that the URI does not give. */
export interface PinOptions {
  readonly pin?: Pkcs11Pin | undefined;
  readonly pinSource?: Resolve | undefined;
  readonly allowPinValue?: boolean | undefined;
}

/**
 * At most two slashes. The host between them is empty or this machine. A URL parser would change everything else: it reads
 * `file:pin` as `/pin`, turns a backslash into a slash, and drops control characters and a space at the end.
 */
const FILE_URI = /^file:(?:\/\/(?:localhost)?)?\/(?!\/)[^\\\p{Cc}]*[^\\\p{Cc} /]$/iu;

/**
 * Where the PIN for a URI comes from: its `pin-source`, its `pin-value` if allowed, or the adapter's `pin`. A file is
 * read again on every login.
 *
 * @throws ConfigurationError
 */
export function pinFor({ pinSource: source, pinValue }: Pkcs11Uri, options: PinOptions): PinSource {
  if (source !== undefined && pinValue !== undefined) {
    throw new ConfigurationError("uri", "expected pin-source or pin-value, not both (RFC 7512 section 2.4)");
  }
  if (pinValue !== undefined) {
    if (options.allowPinValue === true) return pinSource(pinValue, "pin-value of the URI");
    throw new ConfigurationError(
      "uri",
      "pin-value: not allowed, because a PIN in a URI ends up in logs. Use pin-source, or set allowPinValue",
    );
  }
  if (source !== undefined) return pinFromSource(source, options);
  if (options.pin !== undefined) return pinSource(options.pin);
  throw new ConfigurationError("pin", "missing: set this option, or pin-source in the URI");
}

function pinFromSource(source: string, { pinSource: resolve }: PinOptions): PinSource {
  if (source.startsWith("|")) {
    throw new ConfigurationError("uri", "pin-source: expected a URI; commands are not run");
  }
  if (/^file:/i.test(source)) {
    const path = filePath(source);
    return pinSource(fileReader(path), `pin-source file ${shown(path, path)}`);
  }
  if (resolve === undefined) {
    throw new ConfigurationError("uri", "pin-source: expected a file: URI; for any other, set the option pinSource");
  }
  // The value may itself be a secret.
  return pinSource(resolverOf(resolve, source), "the function of the option pinSource");
}

/** Functions by what they read. One function for each, so that all signers count it as one source. */
type Readers = Map<string, () => ReturnType<Resolve>>;

/** More sources than any configuration has. The oldest one is forgotten. */
const MAX_READERS = 256;

function readerOf(readers: Readers, name: string, create: () => () => ReturnType<Resolve>): () => ReturnType<Resolve> {
  const known = readers.get(name);
  if (known !== undefined) return known;
  for (const [oldest] of readers) {
    if (readers.size < MAX_READERS) break;
    readers.delete(oldest);
  }
  const reader = create();
  readers.set(name, reader);
  return reader;
}

/** By their resolver. */
const resolvers = new WeakMap<Resolve, Readers>();

function resolverOf(resolve: Resolve, source: string): () => ReturnType<Resolve> {
  const readers: Readers = resolvers.get(resolve) ?? new Map();
  resolvers.set(resolve, readers);
  return readerOf(readers, source, () => () => resolve(source));
}

const fileReaders: Readers = new Map();

function fileReader(path: string): () => ReturnType<Resolve> {
  return readerOf(fileReaders, path, () => () => (mayHoldPin(path) ? readWithoutPath(path) : readPinFile(path)));
}

/** Hides the system's error, whose path may contain a PIN after a wrong separator. */
async function readWithoutPath(path: string): Promise<Uint8Array> {
  try {
    return await readPinFile(path);
  } catch (error) {
    const code = memberOf(error, "code");
    throw new ConfigurationError("pin", `its file cannot be read${typeof code === "string" ? ` (${code})` : ""}`);
  }
}

function filePath(source: string): string {
  const url = FILE_URI.test(source) && URL.canParse(source) ? new URL(source) : undefined;
  if (url === undefined || url.search !== "" || url.hash !== "") {
    throw new ConfigurationError(
      "uri",
      "pin-source: expected file: and an absolute path without a trailing space; percent-encode ?, #, \\ and control characters",
    );
  }
  try {
    return fileURLToPath(url);
  } catch {
    throw new ConfigurationError("uri", "pin-source: expected file: and an absolute path");
  }
}
