import { fileURLToPath } from "node:url";
import { ConfigurationError } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import { mayHoldPin, shown } from "./misplaced-pin.ts";
import { readPinFile } from "./pin-file.ts";
import { pinSource, type PinSource, type Pkcs11Pin } from "./pin.ts";
import type { Pkcs11Uri } from "./uri.ts";

type Resolve = (source: string) => Promise<string | Uint8Array> | string | Uint8Array;

/** What an adapter knows about PINs that a URI does not say. */
export interface PinOptions {
  readonly pin?: Pkcs11Pin | undefined;
  readonly pinSource?: Resolve | undefined;
  readonly allowPinValue?: boolean | undefined;
}

/**
 * Two slashes at most, the host between them empty or this one. URL parsers make another path of the rest: `/pin` of
 * `file:pin`, a slash of a backslash, and nothing of control characters and of a space at the end.
 */
const FILE_URI = /^file:(?:\/\/(?:localhost)?)?\/(?!\/)[^\\\p{Cc}]*[^\\\p{Cc} /]$/iu;

/**
 * Where the PIN for a URI comes from: its `pin-source`, its `pin-value` where that is allowed, or the adapter's own. A file is
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
      "pin-value: expected pin-source instead; a PIN in a URI ends up in logs (allowPinValue permits it)",
    );
  }
  if (source !== undefined) return pinFromSource(source, options);
  if (options.pin !== undefined) return pinSource(options.pin);
  throw new ConfigurationError("pin", "expected it as an option, or a pin-source in the URI");
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
    throw new ConfigurationError("uri", "pin-source: expected a file: URI; others need the option pinSource");
  }
  // What it says may be a secret itself.
  return pinSource(resolverOf(resolve, source), "the function of the option pinSource");
}

/** Functions by what they read: one for each, so that it counts as one source for all signers. */
type Readers = Map<string, () => ReturnType<Resolve>>;

/** More sources than this are no configuration. The one that was added first is forgotten. */
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

/** By what resolves them. */
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

/** The system's error repeats the path, in which a PIN may stand behind a wrong separator. */
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
      "pin-source: expected file: and an absolute path without a space at its end, with ?, #, \\ and control characters encoded",
    );
  }
  try {
    return fileURLToPath(url);
  } catch {
    throw new ConfigurationError("uri", "pin-source: expected file: and an absolute path");
  }
}
