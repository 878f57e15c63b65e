import { elapsedMs } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import type { CachedResource } from "../http/cached-resource.ts";
import type { FetchLimits } from "../http/fetch-limits.ts";
import { checkedUrl } from "../http/url.ts";
import type { FindsKeys } from "../jwk/key-function.ts";
import type { KidMemory } from "../jwk/kid-memory.ts";
import { createKidMemory, REMEMBERED_KIDS } from "../jwk/kid-memory.ts";
import type { DropReason, VerificationKey } from "../jwk/parse-jwk.ts";
import type { ParsedJwks } from "../jwk/parse-jwks.ts";
import { parseJwksBody } from "../jwk/parse-jwks.ts";
import type { SelectingHeader } from "../jwk/select.ts";
import { keyRequest, selectKey } from "../jwk/select.ts";
import type { FetchedKeyFunction } from "./fetched-key-function.ts";
import { fetchedKeyFunction } from "./fetched-key-function.ts";
import type { RemoteKeySetOptions, RemoteSettings } from "./options.ts";
import { remoteSettings } from "./options.ts";
import type { FetchCounters } from "./remote-resource.ts";
import { createRemoteResource } from "./remote-resource.ts";

/** Counters since the key function was created, and the state of the stored set. */
export interface RemoteKeySetStats extends FetchCounters {
  /** Usable keys in the stored set. */
  readonly keys: number;
  /** Entries of the stored set that were left out, by reason. */
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>;
  /** Age of the stored set in seconds, by its headers. `undefined` before the first set. */
  readonly ageSeconds: number | undefined;
  /** Seconds for which the set is still used without a request. Negative once it is stale. `undefined` before the first set. */
  readonly freshForSeconds: number | undefined;
}

/** Finds keys in the JWKS at a URL. A key function for jose. */
export interface RemoteKeyFunction extends FetchedKeyFunction {
  /** The URL of the set. */
  readonly jwksUri: string;
  /** Counters so far, and the state of the stored set. For metrics. */
  stats(): RemoteKeySetStats;
}

/**
 * A key function for the JWKS of an OP. The set is fetched on first use and cached by its HTTP headers: `Cache-Control`, `Age`,
 * `Expires`, `ETag`, `stale-while-revalidate` (RFC 9111, RFC 5861). Ages follow the faster of two clocks. An unknown `kid` causes one
 * shared refetch that bypasses the caches, at most one every 20 seconds. It never falls back to another key. Create one for each URL
 * and keep it.
 *
 * The key function rejects with `KeySetError`: any code except `invalid_metadata` and `issuer_mismatch`.
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
 * The same with checked settings. A set that replaces another one shares its `kids`, and its `limits` if the URL is the same.
 */
export function remoteKeySet(
  jwksUri: string | URL,
  settings: RemoteSettings,
  kids: KidMemory,
  limits?: FetchLimits,
): RemoteKeyFunction & FindsKeys {
  const url = checkedUrl("jwksUri", jwksUri, settings.allowInsecureLoopback);
  const document = {
    accept: "application/jwk-set+json, application/json;q=0.9",
    parse: (body: Uint8Array) => parseJwksBody(body, settings.maxKeys),
  };
  const { resource, counters } = createRemoteResource(url, settings, document, limits);

  const source: KeySource = { resource, kids, allowMissingKid: settings.allowMissingKid };
  const keyFunction = fetchedKeyFunction({
    find: (header, signal) => findKey(source, header, signal),
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

/** Codes for which a newer set may have the key. */
const NEWER_MAY_HELP: ReadonlySet<string> = new Set(["unknown_kid", "no_suitable_key"]);

interface KeySource {
  readonly resource: CachedResource<ParsedJwks>;
  readonly kids: KidMemory;
  readonly allowMissingKid: boolean;
}

async function findKey(
  { resource, kids, allowMissingKid }: KeySource,
  header: SelectingHeader | undefined,
  signal: AbortSignal | undefined,
): Promise<VerificationKey> {
  const request = keyRequest(header, allowMissingKid);
  let stored = await resource.current(signal);
  for (let asked = false; ;) {
    const key = selectKey(stored.value, request, kids);
    if (!(key instanceof KeySetError)) return key;
    if (!NEWER_MAY_HELP.has(key.code)) throw key;
    if (asked) throw new KeySetError(key.code, `${key.message}, even after a refetch`);
    const newer = await resource.newerThan(stored, signal);
    if ("throttledForMs" in newer) {
      const { throttledForMs: retryAfterMs } = newer;
      throw new KeySetError(key.code, `${key.message}, and the next refetch must wait`, { retryAfterMs });
    }
    stored = newer.stored;
    asked = newer.bypassedCaches;
  }
}
