import { ConfigurationError } from "@signpost/core";
import { given, readText } from "@signpost/core/adapter";
import { KeySetError } from "../errors.ts";
import type { CachedResource } from "../http/cached-resource.ts";
import { checkedUrl } from "../http/url.ts";
import { isObject, parseJson } from "../jwk/json.ts";
import type { VerifierKey } from "../jwk/import-public-jwk.ts";
import type { FindsKeys } from "../jwk/key-function.ts";
import { findKeyOf } from "../jwk/key-function.ts";
import { createKidMemory, REMEMBERED_KIDS } from "../jwk/kid-memory.ts";
import type { SelectingHeader } from "../jwk/select.ts";
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
 * Finds keys in the set that an OP's discovery document names. A key function for jose. `preload` and `refresh` fetch both. If the
 * document cannot be read, `refresh` still fetches the set at the known URL, and then rejects.
 */
export interface DiscoveredKeyFunction extends FetchedKeyFunction {
  /** The issuer that you passed. */
  readonly issuer: string;
  /** Counters so far, and the state of the stored documents. For metrics. */
  stats(): DiscoveredKeySetStats;
}

/** Counters for the discovery document and for the set that it names. */
export interface DiscoveredKeySetStats {
  /** The current URL of the set. `undefined` before the discovery document was read. */
  readonly jwksUri: string | undefined;
  /** Counters for the discovery document. */
  readonly discovery: FetchCounters;
  /** Counters for the set at the current `jwksUri`. */
  readonly keySet: RemoteKeySetStats | undefined;
}

/** The part of the discovery document that is used (OpenID Connect Discovery 1.0 section 3). */
interface Metadata {
  readonly jwksUri: string;
}

type Discovery = CachedResource<Metadata>;

/**
 * How long the last document stays valid while it cannot be read. It contains no keys and often states no lifetime. Meanwhile the set
 * at the known URL follows its own headers.
 */
const DISCOVERY_STALE_IF_ERROR_SECONDS = 7200;

/** Codes for which the set may have moved to another URI. */
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
 * A key function for the JWKS of the OP with this issuer. It first reads the OP's discovery document
 * (`/.well-known/openid-configuration`) and caches it by the same rules as the set. The document's `issuer` must equal the one that
 * you passed. Its `jwks_uri` is used, even if it changes later. While the document cannot be read, the last one stays valid for two
 * more hours. During that time it is read in the background while the set is fresh. An unknown `kid` causes at most one refetch of
 * each of the two every 20 seconds. It takes the options of `createRemoteKeySet`.
 *
 * The key function rejects with `KeySetError`: every code of a remote set, and `invalid_metadata` and `issuer_mismatch`.
 *
 * @throws ConfigurationError for an issuer that is not an https URL or has a query, or an option that cannot work.
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
  let keySet: (RemoteKeyFunction & FindsKeys) | undefined;

  /** The set at the URI of the newest document. The set at an earlier URI is dropped with its keys, but its kids are remembered. */
  function keySetAt(metadata: Metadata): RemoteKeyFunction & FindsKeys {
    const { jwksUri } = discovery.peek()?.value ?? metadata;
    if (keySet?.jwksUri !== jwksUri) keySet = remoteKeySet(jwksUri, settings, kids);
    return keySet;
  }

  /** If the server hangs, callers with a fresh set do not wait, and the others wait only until the first failure. */
  function needsNoDiscovery({ failing }: { readonly failing: boolean }): boolean {
    return failing || (keySet?.stats().freshForSeconds ?? 0) > 0;
  }

  async function find(header: SelectingHeader | undefined, signal: AbortSignal | undefined): Promise<VerifierKey> {
    keyRequest(header, settings.allowMissingKid);
    const { value } = await discovery.current(signal, needsNoDiscovery);
    const tried = keySetAt(value);
    try {
      return await findKeyOf(tried)(header, signal);
    } catch (error) {
      if (!(error instanceof KeySetError) || !MAY_HAVE_MOVED.has(error.code)) throw error;
      const moved = await movedFrom(discovery, tried.jwksUri, signal);
      if (moved === undefined) throw error;
      return findKeyOf(keySetAt(moved))(header, signal);
    }
  }

  const keyFunction = fetchedKeyFunction({
    find,
    preload: async (signal) => {
      await keySetAt((await discovery.current(signal, needsNoDiscovery)).value).preload({ signal });
    },
    refresh: async (signal) => {
      // A revoked key must go even if the document cannot be read, and without waiting for a slow document.
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

/** The new location of the set, if it moved. The request bypasses the caches, and the throttle limits it. */
async function movedFrom(discovery: Discovery, jwksUri: string, signal?: AbortSignal): Promise<Metadata | undefined> {
  let seen = discovery.peek();
  for (let asked = false; seen !== undefined;) {
    if (seen.value.jwksUri !== jwksUri) return seen.value;
    if (asked) return undefined;
    // If discovery fails too, the error of the set is more useful.
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

/** OpenID Connect Discovery 1.0 section 4: the issuer, with its path, plus the well-known path. */
function discoveryUrl(issuer: string, allowInsecureLoopback: boolean): URL {
  const url = checkedUrl("issuer", readText("issuer", issuer), allowInsecureLoopback);
  if (issuer.includes("?")) throw new ConfigurationError("issuer", "expected a URL without a query");
  return new URL(`${url.href.replace(/\/$/, "")}/.well-known/openid-configuration`);
}

/** Exactly as given, since one slash may be the difference. A user or a query may be a secret, and is not shown. */
function describeIssuer(issuer: unknown): string {
  return typeof issuer === "string" && /^https?:\/\/[\w.~:/[\]%-]{1,512}$/i.test(issuer) ? issuer : given(issuer);
}

function readMetadata(body: Uint8Array, issuer: string, allowInsecureLoopback: boolean): Metadata {
  const metadata = parseJson(body)?.value;
  if (!isObject(metadata)) throw new KeySetError("invalid_metadata", "expected a discovery document: a JSON object");
  if (metadata["issuer"] !== issuer) {
    throw new KeySetError(
      "issuer_mismatch",
      `issuer: expected ${issuer} in the discovery document, got ${describeIssuer(metadata["issuer"])}`,
    );
  }
  const jwksUri = metadata["jwks_uri"];
  if (typeof jwksUri !== "string")
    throw new KeySetError("invalid_metadata", "jwks_uri: expected a string in the discovery document");
  try {
    return { jwksUri: checkedUrl("jwks_uri", jwksUri, allowInsecureLoopback).href };
  } catch (error) {
    throw new KeySetError("invalid_metadata", "jwks_uri: expected an https URL in the discovery document", {
      cause: error,
    });
  }
}
