import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, readText, readWholeNumber } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { FetchLimits } from "../http/fetch-limits.ts";
import { MAX_RETRY_AFTER_MS } from "../http/request.ts";
import { publicFetch } from "../http/undici-fetch.ts";
import { createKidMemory } from "../jwk/kid-memory.ts";
import { staticKeySet } from "../jwk/static-key-set.ts";
import type { RemoteKeySetOptions } from "../remote/options.ts";
import { REMOTE_KEY_SET_OPTIONS, remoteSettings } from "../remote/options.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import { remoteKeySet } from "../remote/remote-key-set.ts";
import { fetchLimits } from "../remote/remote-resource.ts";
import { createRecentlyUsed } from "../recently-used.ts";
import { createDroppedLimits } from "./dropped-limits.ts";

/** Options of `createClientKeySets`. The options of a remote set apply to the sets of all clients. */
export interface ClientKeySetsOptions extends Omit<RemoteKeySetOptions, "publicAddressesOnly"> {
  /**
   * Number of clients whose sets are kept. The least recently used one is dropped. Its next set is fetched after
   * `minRevalidateIntervalMs` at the earliest, so choose more than the number of clients in a minute. A whole number, 1 to 1,000,000,
   * default 1000.
   */
  readonly maxClients?: number | undefined;
  /** Accepts a signature without `kid` if exactly one key of the client fits. Default true. */
  readonly allowMissingKid?: boolean | undefined;
}

/** The keys that a client registered (RFC 7591 section 2): exactly one of the two. */
export interface ClientKeys {
  /** The set itself. Another object with the same content is the same set. An object that was changed in place is another set. */
  readonly jwks?: { readonly keys: readonly unknown[] } | undefined;
  /** An https URL of the set. */
  readonly jwksUri?: string | undefined;
}

/** Returns the key function of each client. */
export interface ClientKeySets {
  /**
   * Returns a key function for the client's own keys. It stays the same until the content of `jwks` or the URI changes. The next
   * one still remembers which key each `kid` of the client named.
   *
   * @throws ConfigurationError for a client without an id, and for a URI that is not https; KeySetError `invalid_jwks`,
   * `no_usable_key` for a `jwks`.
   */
  keysOf(clientId: string, keys: ClientKeys): KeyFunction;
}

const { publicAddressesOnly: _always, ...CLIENTS_OWN } = REMOTE_KEY_SET_OPTIONS;
const CLIENT_KEY_SETS_OPTIONS: OptionNames<ClientKeySetsOptions> = { ...CLIENTS_OWN, maxClients: true };

/**
 * Remembered kids of all clients together, about 30 MB when full. They outlive the sets. A client that fills this memory makes the OP
 * forget what the kids of other clients named. That does not help the client.
 */
const REMEMBERED_CLIENT_KIDS = 100_000;

/**
 * Key functions for an OP's clients. Each one belongs to its client: a key of one client never verifies for another, even at the
 * same URI. It connects only to public addresses, unless you pass `fetch` or `dispatcher`.
 *
 * @throws ConfigurationError for an option that cannot work.
 * @example
 * ```ts
 * import { createClientKeySets, type ClientKeys } from "@signpost/verify";
 *
 * const keySets = createClientKeySets({ maxClients: 5000 });
 *
 * export const keyFunctionOf = (client: { id: string; keys: ClientKeys }) => keySets.keysOf(client.id, client.keys);
 * ```
 */
export function createClientKeySets(options: ClientKeySetsOptions = {}): ClientKeySets {
  assertOptions("options", options, CLIENT_KEY_SETS_OPTIONS);
  const { maxClients = 1000, allowMissingKid = true, ...others } = options;
  readWholeNumber("maxClients", maxClients, 1, 1_000_000);
  const connects = others.fetch !== undefined || others.dispatcher !== undefined;
  // Shared by all clients, so that they share connections.
  const loadFetch = publicFetch();
  const remote: RemoteKeySetOptions = {
    ...others,
    allowMissingKid,
    ...(connects ? {} : { fetch: async (url, init) => (await loadFetch())(url, init) }),
  };
  const settings = remoteSettings(remote);
  const kids = createKidMemory(REMEMBERED_CLIENT_KIDS);
  const dropped = createDroppedLimits({
    holdMs: Math.max(
      settings.forcedRefetchIntervalMs * settings.forcedRefetchBurst,
      settings.minRevalidateIntervalMs,
      settings.failureMemoryMs,
      MAX_RETRY_AFTER_MS,
    ),
    instant: settings.instant,
    create: () => fetchLimits(settings),
  });
  const kept = createRecentlyUsed<ClientKeySet>(maxClients);

  return {
    keysOf(clientId, keys) {
      readText("clientId", clientId);
      if (typeof keys !== "object" || keys === null) {
        throw new ConfigurationError("keys", `expected an object with jwks or jwksUri, got ${given(keys)}`);
      }
      const source = keys.jwks ?? keys.jwksUri;
      const known = kept.get(clientId);
      if (known !== undefined && isSame(known, source)) return known.keySet;
      const entry = { source, text: textOf(source), ...make(clientId, keys) };
      if (known !== undefined) drop(clientId, known);
      const pushedOut = kept.set(clientId, entry);
      if (pushedOut !== undefined) drop(...pushedOut);
      return entry.keySet;
    },
  };

  function make(clientId: string, { jwks, jwksUri }: ClientKeys): Pick<ClientKeySet, "keySet" | "limits"> {
    const known = kids.of(clientId);
    if (jwks !== undefined && jwksUri === undefined) {
      return { keySet: staticKeySet(jwks, settings, known), limits: undefined };
    }
    if (jwks === undefined && jwksUri !== undefined) {
      // A URL object would be another source each time, and its set fetched each time.
      const limits = dropped.take(ownerOf(clientId, readText("jwksUri", jwksUri)));
      return { keySet: remoteKeySet(jwksUri, settings, known, limits), limits };
    }
    throw new ConfigurationError("keys", "expected exactly one of jwks and jwksUri");
  }

  /** Keeps the limits of a dropped set. It may have been fetched for a forged assertion, and the next one may be too. */
  function drop(clientId: string, { source, limits }: ClientKeySet): void {
    if (limits !== undefined) dropped.keep(ownerOf(clientId, source), limits);
  }
}

interface ClientKeySet {
  /** The registered `jwks` or `jwksUri`. */
  readonly source: unknown;
  /** A `jwks` as JSON. An OP that reads it from its database gets a new object each time. */
  readonly text: string | undefined;
  readonly keySet: KeyFunction;
  /** Only for a fetched set. */
  readonly limits: FetchLimits | undefined;
}

/**
 * Reading a set takes a hundred times longer than comparing it, and anyone can forge an assertion. A `jwks` is compared by its content,
 * because an OP may change the object that it holds: a key that it removes there must not stay trusted.
 */
function isSame(known: ClientKeySet, source: unknown): boolean {
  if (typeof source !== "object") return known.source === source;
  return known.text !== undefined && known.text === textOf(source);
}

function textOf(source: unknown): string | undefined {
  if (typeof source !== "object") return undefined;
  try {
    return JSON.stringify(source);
  } catch {
    // What is not JSON, such as a BigInt, is read each time.
    return undefined;
  }
}

/** The limits of one URI do not apply to another URI of the same client. */
function ownerOf(clientId: string, jwksUri: unknown): string {
  return JSON.stringify([clientId, jwksUri]);
}
