import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, readText, readWholeNumber } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { publicFetch } from "../http/undici-fetch.ts";
import type { KidMemory } from "../jwk/kid-memory.ts";
import { createKidMemory } from "../jwk/kid-memory.ts";
import { staticKeySet } from "../jwk/static-key-set.ts";
import type { RemoteKeySetOptions } from "../remote/options.ts";
import { REMOTE_KEY_SET_OPTIONS, remoteSettings } from "../remote/options.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import { remoteKeySet } from "../remote/remote-key-set.ts";

/** Options of `createClientKeySets`: those of a remote set, for the sets of all clients. */
export interface ClientKeySetsOptions extends Omit<RemoteKeySetOptions, "publicAddressesOnly"> {
  /** Clients whose sets are kept; the one that was not asked for longest is dropped. A whole number, 1 to 1,000,000, default 1000. */
  readonly maxClients?: number | undefined;
  /** Accepts a signature without `kid` where exactly one key of the client fits. Default true. */
  readonly allowMissingKid?: boolean | undefined;
}

/** What a client registered (RFC 7591 section 2): one of the two. */
export interface ClientKeys {
  /** The set itself. Another object is another set. */
  readonly jwks?: { readonly keys: readonly unknown[] } | undefined;
  /** An https URL of the set. */
  readonly jwksUri?: string | undefined;
}

/** Gives the key function of each client. */
export interface ClientKeySets {
  /**
   * Finds the client's own keys. The same key function is given until `keys` holds another `jwks` object or another URI. The new
   * one still knows which key each `kid` of the client named.
   *
   * @throws ConfigurationError for a client without an id, and for a URI that is not https; KeySetError `invalid_jwks`, `no_usable_key` for a `jwks`.
   */
  keysOf(clientId: string, keys: ClientKeys): KeyFunction;
}

const { publicAddressesOnly: _always, ...CLIENTS_OWN } = REMOTE_KEY_SET_OPTIONS;
const CLIENT_KEY_SETS_OPTIONS: OptionNames<ClientKeySetsOptions> = { ...CLIENTS_OWN, maxClients: true };

/**
 * Kids of all clients together, some 30 MB when full. They outlive the sets. A client that fills them makes the OP forget what
 * other clients' kids named, and gains nothing by it.
 */
const REMEMBERED_CLIENT_KIDS = 100_000;

/**
 * Key functions of an OP's clients, each scoped to its client: what one client publishes never verifies for another, not
 * even at the same URI. Only public addresses are connected to, unless `fetch` or `dispatcher` is given.
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
  // One for all, so that connections are shared.
  const loadFetch = publicFetch();
  const remote: RemoteKeySetOptions = {
    ...others,
    allowMissingKid,
    ...(connects ? {} : { fetch: async (url, init) => (await loadFetch())(url, init) }),
  };
  const settings = remoteSettings(remote);
  const kids = createKidMemory(REMEMBERED_CLIENT_KIDS);
  // In the order of use: the first is the one that was not asked for longest.
  const kept = new Map<string, { readonly source: unknown; readonly keySet: KeyFunction }>();

  return {
    keysOf(clientId, keys) {
      readText("clientId", clientId);
      if (typeof keys !== "object" || keys === null) {
        throw new ConfigurationError("keys", `expected one of jwks and jwksUri, got ${given(keys)}`);
      }
      const source = keys.jwks ?? keys.jwksUri;
      const known = kept.get(clientId);
      const entry =
        known !== undefined && known.source === source ? known : { source, keySet: make(keys, kids.of(clientId)) };
      kept.delete(clientId);
      kept.set(clientId, entry);
      for (const oldest of kept.keys()) {
        if (kept.size <= maxClients) break;
        kept.delete(oldest);
      }
      return entry.keySet;
    },
  };

  function make({ jwks, jwksUri }: ClientKeys, known: KidMemory): KeyFunction {
    if (jwks !== undefined && jwksUri === undefined) return staticKeySet(jwks, settings, known);
    if (jwks === undefined && jwksUri !== undefined) return remoteKeySet(jwksUri, settings, known);
    throw new ConfigurationError("keys", "expected one of jwks and jwksUri");
  }
}
