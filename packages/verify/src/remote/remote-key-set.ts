import { elapsedMs } from "@signpost/core/adapter";
import type { CryptoKey } from "jose";
import { KeySetError } from "../errors.ts";
import type { CachedResource } from "../http/cached-resource.ts";
import type { FetchLimits } from "../http/fetch-limits.ts";
import { checkedUrl } from "../http/url.ts";
import type { KidMemory } from "../jwk/kid-memory.ts";
import { createKidMemory, REMEMBERED_KIDS } from "../jwk/kid-memory.ts";
import type { DropReason } from "../jwk/parse-jwk.ts";
import type { ParsedJwks } from "../jwk/parse-jwks.ts";
import { parseJwksBody } from "../jwk/parse-jwks.ts";
import type { KeyRequest } from "../jwk/select.ts";
import { keyRequest, selectKey } from "../jwk/select.ts";
import type { FetchedKeyFunction } from "./fetched-key-function.ts";
import { fetchedKeyFunction } from "./fetched-key-function.ts";
import type { RemoteKeySetOptions, RemoteSettings } from "./options.ts";
import { remoteSettings } from "./options.ts";
import type { FetchCounters } from "./remote-resource.ts";
import { createRemoteResource } from "./remote-resource.ts";

/** Counters since the set was made, and the state of what is stored now. */
export interface RemoteKeySetStats extends FetchCounters {
  /** Usable keys in the stored set. */
  readonly keys: number;
  /** Entries of the stored set that were left out, by reason. */
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
  /** Age of the stored set, as its headers tell; `undefined` before the first. */
  readonly ageSeconds: number | undefined;
  /** How many seconds longer it is used without asking; negative once stale, `undefined` before the first. */
  readonly freshForSeconds: number | undefined;
}

/** Finds keys in the JWKS behind a URL: a key function for jose. */
export interface RemoteKeyFunction extends FetchedKeyFunction {
  /** Where the set is fetched, as it was given. */
  readonly jwksUri: string;
  /** What happened so far, and what is stored now. For metrics. */
  stats(): RemoteKeySetStats;
}

/**
 * A key function over the JWKS of an OP, fetched on first use and cached as its HTTP headers say: `Cache-Control`, `Age`,
 * `Expires`, `ETag`, `stale-while-revalidate` (RFC 9111, RFC 5861), as the faster of two clocks counts. An unknown `kid` leads to one
 * shared refetch past the caches, at most one every 20 seconds; there is no fallback to another key, ever.
 * Make one per URL and keep it.
 *
 * The key function rejects with `KeySetError`: any code but `invalid_metadata` and `issuer_mismatch`.
 *
 * @throws ConfigurationError for a URL that is not https, or an option that cannot work.
 * @example
 * ```ts
 * import { createRemoteKeySet } from "@signpost/verify";
 * import { jwtVerify } from "jose";
 *
 * const keySet = createRemoteKeySet("https://op.example/jwks");
 *
 * export async function verify(token: string) {
 *   return jwtVerify(token, keySet, { issuer: "https://op.example", audience: "client-1", algorithms: ["ES256"] });
 * }
 * ```
 */
export function createRemoteKeySet(jwksUri: string | URL, options: RemoteKeySetOptions = {}): RemoteKeyFunction {
  return remoteKeySet(jwksUri, remoteSettings(options), createKidMemory(REMEMBERED_KIDS).of(""));
}

/**
 * The same by settings that were read. A set that takes the place of another knows the kids that this one gave, and is held back
 * by the limits of this one where they are of the same URL.
 */
export function remoteKeySet(
  jwksUri: string | URL,
  settings: RemoteSettings,
  kids: KidMemory,
  limits?: FetchLimits,
): RemoteKeyFunction {
  const url = checkedUrl("jwksUri", jwksUri, settings.allowInsecureLoopback);
  const document = {
    accept: "application/jwk-set+json, application/json;q=0.9",
    parse: (body: Uint8Array) => parseJwksBody(body, settings.maxKeys),
  };
  const { resource, counters } = createRemoteResource(url, settings, document, limits);

  const keyFunction = fetchedKeyFunction({
    keyFor: async (header, signal) => findKey({ resource, kids }, keyRequest(header, settings.allowMissingKid), signal),
    preload: async (signal) => {
      await resource.current(signal);
    },
    refresh: async (signal) => {
      await resource.refresh(signal);
    },
  });

  return Object.assign(keyFunction, {
    jwksUri: url.href,
    stats: (): RemoteKeySetStats => {
      const stored = resource.peek();
      const freshness = stored?.freshness;
      const elapsed = freshness === undefined ? 0 : elapsedMs(freshness.receivedAt, settings.instant());
      return {
        ...counters(),
        keys: stored?.value.keys.length ?? 0,
        dropped: stored?.value.dropped ?? {},
        ageSeconds: freshness && (freshness.ageMs + elapsed) / 1000,
        freshForSeconds: freshness && (freshness.freshForMs - elapsed) / 1000,
      };
    },
  });
}

/** A newer set may have the key. */
const NEWER_MAY_HELP: ReadonlySet<string> = new Set(["unknown_kid", "no_suitable_key"]);

async function findKey(
  { resource, kids }: { resource: CachedResource<ParsedJwks>; kids: KidMemory },
  request: KeyRequest,
  signal: AbortSignal | undefined,
): Promise<CryptoKey> {
  let stored = await resource.current(signal);
  for (let asked = false; ;) {
    const key = selectKey(stored.value, request, kids);
    if (!(key instanceof KeySetError)) return key.cryptoKey(request.alg);
    if (!NEWER_MAY_HELP.has(key.code)) throw key;
    if (asked) throw new KeySetError(key.code, `${key.message}, also after a refetch`);
    const newer = await resource.newerThan(stored, signal);
    if ("throttledForMs" in newer) {
      const { throttledForMs: retryAfterMs } = newer;
      throw new KeySetError(key.code, `${key.message}, and the next refetch has to wait`, { retryAfterMs });
    }
    stored = newer.stored;
    asked = newer.bypassedCaches;
  }
}
