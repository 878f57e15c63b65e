import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { VerifyError } from "@signpost/core";
import {
  createPublicDispatcher,
  createRemoteKeySet,
  createStaticKeySet,
  discoverKeySet,
  type KeyFunction,
  type RemoteKeySetOptions,
} from "@signpost/verify";
import { CliError } from "../program/cli-error.ts";
import { hostOf, isOnLoopback } from "../network/host.ts";
import { localTranslators } from "../network/private-address.ts";
import { lookupWith, privateAddressesOf, type ResolveHost } from "../network/private-host.ts";
import { EXIT } from "../program/exit-codes.ts";
import { readJson } from "../program/json.ts";

/** Where the keys come from. */
export interface KeySource {
  readonly keys: KeyFunction;
  /** The issuer that the token must name. Undefined: any. */
  readonly issuer: string | undefined;
  /** For people: what the keys were found in. */
  readonly place: () => string;
}

/** The keys of an issuer, of the URL of a key set, or of a file. */
export async function openKeySource(source: string, issuer: string | undefined, cwd: string): Promise<KeySource> {
  if (!/^https?:\/\//i.test(source)) {
    return { keys: keysIn(await readKeys(resolve(cwd, source), source), source), issuer, place: () => source };
  }
  const options = await connectionsOf(source);
  if (issuer !== undefined) return { keys: createRemoteKeySet(source, options), issuer, place: () => source };
  const keys = discoverKeySet(source, options);
  return { keys, issuer: source, place: () => keys.stats().jwksUri ?? `the issuer ${source}` };
}

/**
 * Where requests may go. A host that only a document names must not lead from the Internet into the network of this machine, so such
 * hosts are allowed only if the source is in a private network itself. Then the source is asked only there: a host on the Internet
 * may have a private address too, to be taken for a private one. Plain http stays with the loopback interface.
 */
export async function connectionsOf(
  source: string,
  resolveHost?: ResolveHost,
): Promise<Pick<RemoteKeySetOptions, "publicAddressesOnly" | "allowInsecureLoopback" | "dispatcher">> {
  if (!URL.canParse(source)) return { publicAddressesOnly: true };
  if (isOnLoopback(source)) return { allowInsecureLoopback: true };
  const url = new URL(source);
  const addresses = await privateAddressesOf(url, resolveHost);
  if (addresses.length === 0) return { publicAddressesOnly: true };
  const lookup = lookupWith(hostOf(url), addresses);
  // Every host on IPv4 has such an address in a network with DNS64, also a public one.
  const nat64Prefixes = localTranslators(addresses.map(({ address }) => address));
  const dispatcher = createPublicDispatcher({ allowSubnets: EVERY_SUBNET, nat64Prefixes, lookup });
  return { allowInsecureLoopback: true, dispatcher };
}

const EVERY_SUBNET = ["0.0.0.0/0", "::/0"];

/** The keys of a file. Only the file can be wrong, so the exit code is that of a mistake. */
function keysIn(jwks: { readonly keys: readonly unknown[] }, name: string): KeyFunction {
  try {
    return createStaticKeySet(jwks);
  } catch (cause) {
    if (!(cause instanceof VerifyError)) throw cause;
    throw new CliError(EXIT.usage, cause.code, `${name}: ${cause.message}`, { cause });
  }
}

const MAX_CHARACTERS = 1_048_576;

async function readKeys(path: string, name: string): Promise<{ readonly keys: readonly unknown[] }> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    const hint = "The source is an issuer or a URL that begins with https://, or the path of a file";
    throw new CliError(EXIT.usage, "file_unreadable", `${name}: cannot be read (${cause.code})`, { cause, hint });
  });
  // A parser may ignore a byte order mark (RFC 8259 section 8.1).
  const read = text.length > MAX_CHARACTERS ? undefined : await readJson(text.replace(/^\uFEFF/, ""));
  if (read !== undefined && "repeated" in read) {
    const { fault, line, column } = read;
    // RFC 7517 section 4 wants unique names, and libraries differ in which of two they take.
    throw new CliError(EXIT.usage, "file_not_keys", `${name}: line ${line}, column ${column}: ${fault}`);
  }
  const value = read !== undefined && "value" in read ? read.value : undefined;
  const keys: unknown = Reflect.get(Object(value), "keys");
  if (Array.isArray(keys)) return { keys };
  if (typeof Reflect.get(Object(value), "kty") === "string") return { keys: [value] };
  throw new CliError(EXIT.usage, "file_not_keys", `${name}: expected a JWK Set or a JWK as JSON`);
}
