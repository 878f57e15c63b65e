import { ConfigurationError } from "@signpost/core";
import { publicFetch } from "../http/undici-fetch.ts";
import { createStaticKeySet } from "../jwk/static-key-set.ts";
import type { RemoteKeySetOptions } from "../remote/options.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import { createRemoteKeySet } from "../remote/remote-key-set.ts";

export interface ClientKeySetsOptions extends Omit<RemoteKeySetOptions, "publicAddressesOnly"> {
  /** Clients whose sets are kept; the one that was not asked for longest is dropped. Default 1000. */
  readonly maxClients?: number | undefined;
  /** Accepts a signature without `kid` where exactly one key of the client fits. Default true. */
  readonly allowMissingKid?: boolean | undefined;
}

/** What a client registered (RFC 7591 section 2): one of the two. */
export interface ClientKeys {
  readonly jwks?: { readonly keys: readonly unknown[] } | undefined;
  readonly jwksUri?: string | undefined;
}

export interface ClientKeySets {
  /** The client's own keys. The same set is given until `keys` holds another `jwks` object or another URI. */
  keysOf(clientId: string, keys: ClientKeys): KeyFunction;
}

/**
 * Key sets of an OP's clients, each scoped to its client: what one client publishes never verifies for another, not
 * even at the same URI. Only public addresses are connected to, unless `fetch` or `dispatcher` is given.
 *
 * `keysOf` throws `ConfigurationError` for a URI that is not https, and `KeySetError` for a `jwks` without a usable key.
 */
export function createClientKeySets(options: ClientKeySetsOptions = {}): ClientKeySets {
  const { maxClients = 1000, allowMissingKid = true, ...given } = options;
  if (!Number.isSafeInteger(maxClients) || maxClients < 1) {
    throw new ConfigurationError("maxClients", "expected a whole number of at least 1");
  }
  const connects = given.fetch !== undefined || given.dispatcher !== undefined;
  // One for all, so that connections are shared.
  const loadFetch = publicFetch();
  const remote: RemoteKeySetOptions = {
    ...given,
    allowMissingKid,
    ...(connects ? {} : { fetch: async (url, init) => (await loadFetch())(url, init) }),
  };
  // In the order of use: the first is the one that was not asked for longest.
  const kept = new Map<string, { readonly source: unknown; readonly keySet: KeyFunction }>();

  return {
    keysOf(clientId, keys) {
      const source = keys.jwks ?? keys.jwksUri;
      const known = kept.get(clientId);
      const entry = known !== undefined && known.source === source ? known : { source, keySet: make(keys) };
      kept.delete(clientId);
      kept.set(clientId, entry);
      for (const oldest of kept.keys()) {
        if (kept.size <= maxClients) break;
        kept.delete(oldest);
      }
      return entry.keySet;
    },
  };

  function make({ jwks, jwksUri }: ClientKeys): KeyFunction {
    if (jwks !== undefined && jwksUri === undefined) {
      return createStaticKeySet(jwks, { allowMissingKid, maxKeys: remote.maxKeys });
    }
    if (jwks === undefined && jwksUri !== undefined) return createRemoteKeySet(jwksUri, remote);
    throw new ConfigurationError("keys", "expected one of jwks and jwksUri");
  }
}
