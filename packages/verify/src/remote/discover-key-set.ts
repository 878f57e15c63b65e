import { ConfigurationError } from "@signpost/core";
import { readText } from "@signpost/core/adapter";
import type { CryptoKey, JWSHeaderParameters } from "jose";
import { KeySetError } from "../errors.ts";
import type { CachedResource } from "../http/cached-resource.ts";
import { checkedUrl } from "../http/url.ts";
import { isObject, parseJson } from "../jwk/json.ts";
import { createKidMemory, REMEMBERED_KIDS } from "../jwk/kid-memory.ts";
import { keyRequest } from "../jwk/select.ts";
import type { FetchedKeyFunction } from "./fetched-key-function.ts";
import { fetchedKeyFunction } from "./fetched-key-function.ts";
import type { RemoteKeySetOptions } from "./options.ts";
import { remoteSettings } from "./options.ts";
import type { RemoteKeyFunction, RemoteKeySetStats } from "./remote-key-set.ts";
import { remoteKeySet } from "./remote-key-set.ts";
import type { FetchCounters } from "./remote-resource.ts";
import { createRemoteResource } from "./remote-resource.ts";

/**
 * Finds keys in the set that an OP's discovery document names: a key function for jose. `preload` and `refresh` fetch both.
 * Where the document cannot be read, `refresh` fetches the set at the known place all the same, and then rejects.
 */
export interface DiscoveredKeyFunction extends FetchedKeyFunction {
  /** The issuer, as it was given. */
  readonly issuer: string;
  /** What happened so far, and what is stored now. For metrics. */
  stats(): DiscoveredKeySetStats;
}

/** Counters of the discovery document and of the set that it names. */
export interface DiscoveredKeySetStats {
  /** Where the set is now; `undefined` before the discovery document was read. */
  readonly jwksUri: string | undefined;
  /** Of the discovery document. */
  readonly discovery: FetchCounters;
  /** Of the set at the present `jwksUri`. */
  readonly keySet: RemoteKeySetStats | undefined;
}

/** What is read from the discovery document (OpenID Connect Discovery 1.0 section 3). */
interface Metadata {
  readonly jwksUri: string;
}

type Discovery = CachedResource<Metadata>;

/**
 * The document names a place and holds no keys, and often has no lifetime of its own: while it cannot be read, the set at the
 * known place goes by its own headers, for so long.
 */
const DISCOVERY_STALE_IF_ERROR_SECONDS = 7200;

/** A set at another URI may help where this one does not know the key, or is gone. */
const MAY_HAVE_MOVED: ReadonlySet<string> = new Set([
  "unknown_kid",
  "no_suitable_key",
  "fetch_failed",
  "timeout",
  "http_status",
  "redirect_refused",
  "address_refused",
  "unexpected_content_type",
  "body_too_large",
  "invalid_jwks",
  "no_usable_key",
]);

/**
 * A key function over the JWKS of the OP with this issuer. Its discovery document (`/.well-known/openid-configuration`) is
 * read first and cached by the same rules as the set. Its `issuer` must equal the given one, and its `jwks_uri` is relied on,
 * also when it changes. While the document cannot be read, the last one counts for two hours more; within them it is read again in
 * the background while the set is fresh. An unknown `kid` costs at
 * most one refetch of each of the two every 20 seconds. It takes the options of `createRemoteKeySet`.
 *
 * The key function rejects with `KeySetError`: every code of a remote set, and `invalid_metadata` and `issuer_mismatch`.
 *
 * @throws ConfigurationError for an issuer that is no https URL or has a query, or an option that cannot work.
 * @example
 * ```ts
 * import { discoverKeySet } from "@signpost/verify";
 * import { jwtVerify } from "jose";
 *
 * const issuer = "https://op.example";
 * const keySet = discoverKeySet(issuer);
 *
 * export async function verify(token: string) {
 *   return jwtVerify(token, keySet, { issuer, audience: "client-1", algorithms: ["ES256"] });
 * }
 * ```
 */
export function discoverKeySet(issuer: string, options: RemoteKeySetOptions = {}): DiscoveredKeyFunction {
  const settings = remoteSettings(options);
  const url = discoveryUrl(issuer, settings.allowInsecureLoopback);
  const { resource: discovery, counters } = createRemoteResource(
    url,
    {
      ...settings,
      contentTypes: options.contentTypes === undefined ? ["application/json"] : settings.contentTypes,
      staleIfErrorSeconds: Math.max(settings.staleIfErrorSeconds, DISCOVERY_STALE_IF_ERROR_SECONDS),
    },
    {
      accept: "application/json",
      parse: (body) => readMetadata(body, issuer, settings.allowInsecureLoopback),
    },
  );
  const kids = createKidMemory(REMEMBERED_KIDS).of("");
  let keySet: RemoteKeyFunction | undefined;

  /** The set at the URI of the newest document; one at an earlier URI is forgotten with its keys, but not what they were called. */
  function keySetAt(metadata: Metadata): RemoteKeyFunction {
    const { jwksUri } = discovery.peek()?.value ?? metadata;
    if (keySet?.jwksUri !== jwksUri) keySet = remoteKeySet(jwksUri, settings, kids);
    return keySet;
  }

  /** A server that hangs must not make callers wait whose set is fresh, and none for longer than it takes to find out. */
  function needsNoDiscovery({ failing }: { readonly failing: boolean }): boolean {
    return failing || (keySet?.stats().freshForSeconds ?? 0) > 0;
  }

  async function keyFor(header: JWSHeaderParameters | undefined, signal: AbortSignal | undefined): Promise<CryptoKey> {
    keyRequest(header, settings.allowMissingKid);
    const { value } = await discovery.current(signal, needsNoDiscovery);
    const tried = keySetAt(value);
    try {
      return await call(tried, header, signal);
    } catch (error) {
      if (!(error instanceof KeySetError) || !MAY_HAVE_MOVED.has(error.code)) throw error;
      const moved = await movedFrom(discovery, tried.jwksUri, signal);
      if (moved === undefined) throw error;
      return call(keySetAt(moved), header, signal);
    }
  }

  const keyFunction = fetchedKeyFunction({
    keyFor,
    preload: async (signal) => {
      await keySetAt((await discovery.current(signal, needsNoDiscovery)).value).preload({ signal });
    },
    refresh: async (signal) => {
      // A revoked key has to go also where the document cannot be read, and at once where that takes long.
      const known = keySet;
      const [read, fetched] = await Promise.allSettled([discovery.refresh(signal), known?.refresh({ signal })]);
      if (read.status === "rejected") throw read.reason;
      const now = keySetAt(read.value.value);
      if (now !== known) await now.refresh({ signal });
      else if (fetched.status === "rejected") throw fetched.reason;
    },
  });

  return Object.assign(keyFunction, {
    issuer,
    stats: (): DiscoveredKeySetStats => ({
      jwksUri: discovery.peek()?.value.jwksUri,
      discovery: counters(),
      keySet: keySet?.stats(),
    }),
  });
}

function call(
  keySet: RemoteKeyFunction,
  header: JWSHeaderParameters | undefined,
  signal?: AbortSignal,
): Promise<CryptoKey> {
  return signal === undefined ? keySet(header) : keySet.withSignal(signal)(header);
}

/** Where the set is now, if that is elsewhere: asked past the caches, as often as the throttle allows. */
async function movedFrom(discovery: Discovery, jwksUri: string, signal?: AbortSignal): Promise<Metadata | undefined> {
  let seen = discovery.peek();
  for (let asked = false; seen !== undefined;) {
    if (seen.value.jwksUri !== jwksUri) return seen.value;
    if (asked) return undefined;
    // Where discovery fails too, the error of the set says more.
    const newer = await discovery.newerThan(seen, signal).catch((error: unknown) => {
      if (error instanceof KeySetError && error.code !== "aborted") return undefined;
      throw error;
    });
    if (newer === undefined || "throttledForMs" in newer) return undefined;
    seen = newer.stored;
    asked = newer.bypassedCaches;
  }
  return undefined;
}

/** OpenID Connect Discovery 1.0 section 4: appended to the issuer, whose path stays. */
function discoveryUrl(issuer: string, allowInsecureLoopback: boolean): URL {
  const url = checkedUrl("issuer", readText("issuer", issuer), allowInsecureLoopback);
  if (issuer.includes("?")) throw new ConfigurationError("issuer", "expected a URL without a query");
  return new URL(`${url.href.replace(/\/$/, "")}/.well-known/openid-configuration`);
}

function readMetadata(body: Uint8Array, issuer: string, allowInsecureLoopback: boolean): Metadata {
  const metadata = parseJson(body)?.value;
  if (!isObject(metadata)) throw new KeySetError("invalid_metadata", "expected a discovery document: a JSON object");
  if (metadata["issuer"] !== issuer) {
    throw new KeySetError("issuer_mismatch", "the discovery document is another issuer's");
  }
  const jwksUri = metadata["jwks_uri"];
  if (typeof jwksUri !== "string") throw new KeySetError("invalid_metadata", "jwks_uri: expected one");
  try {
    return { jwksUri: checkedUrl("jwks_uri", jwksUri, allowInsecureLoopback).href };
  } catch (error) {
    throw new KeySetError("invalid_metadata", "jwks_uri: expected an https URL", { cause: error });
  }
}
