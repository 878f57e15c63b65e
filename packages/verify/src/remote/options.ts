import { ConfigurationError } from "@signpost/core";
import type { Dispatcher } from "undici";
import type { FetchLike } from "../http/request.ts";

export interface RemoteKeySetOptions {
  /** Default: undici's `fetch`. Called with `redirect: "manual"`; it must not follow redirects on its own. */
  readonly fetch?: FetchLike | undefined;
  /** An undici 7 dispatcher, for proxies, client certificates or private certificate authorities. Excludes `fetch`. */
  readonly dispatcher?: Dispatcher | undefined;
  /**
   * For URLs that somebody else chose (an RP's `jwks_uri`): hosts are resolved by us, and private, loopback,
   * link-local and metadata addresses are refused when the socket connects. Excludes `fetch` and
   * `dispatcher`; to allow some networks, or to share connections between many sets, pass
   * `createPublicDispatcher({ allowSubnets })` as `dispatcher` instead. Default false.
   */
  readonly publicAddressesOnly?: boolean | undefined;
  /** Allows `http:` on loopback hosts, for development. Default false. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /** Connecting, waiting and reading together. Milliseconds, default 5000. */
  readonly timeoutMs?: number | undefined;
  /** Largest decoded body. Default 65536. */
  readonly maxBodyBytes?: number | undefined;
  /** Most entries in a set. Default 64. */
  readonly maxKeys?: number | undefined;
  /** Media types that are read. Default `application/jwk-set+json` and `application/json`. */
  readonly contentTypes?: readonly string[] | "any" | undefined;
  /** Lifetime of an answer that states none. Seconds, default 300. */
  readonly defaultMaxAgeSeconds?: number | undefined;
  /** Upper bound of every lifetime and stale window. Seconds, default 86400. */
  readonly maxAgeCapSeconds?: number | undefined;
  /**
   * How long an answer is used that is stale on arrival (`max-age=0`, `no-cache`, `no-store`). 0 asks on
   * every use. Milliseconds, default 10000.
   */
  readonly minRevalidateIntervalMs?: number | undefined;
  /** `false` waits for the revalidation instead of answering from the stale set. Default true. */
  readonly staleWhileRevalidate?: boolean | undefined;
  /**
   * How long past its lifetime a set may be used while refreshing it fails, also past `must-revalidate`. A
   * key that was revoked stays trusted for as long. Seconds, 0 to 86400, default 0.
   */
  readonly staleIfErrorSeconds?: number | undefined;
  /** `head` asks by HEAD first, and by GET only when the ETag differs. Default `get`. */
  readonly revalidateWith?: "get" | "head" | undefined;
  /** One forced refetch for an unknown `kid` per this time. Milliseconds, default 20000. */
  readonly forcedRefetchIntervalMs?: number | undefined;
  /** Forced refetches that may follow each other at once. Default 1. */
  readonly forcedRefetchBurst?: number | undefined;
  /** How long a failed request is answered from memory. Milliseconds, default 5000. */
  readonly failureMemoryMs?: number | undefined;
  /** Accepts a header without `kid` where exactly one key fits. Default false. */
  readonly allowMissingKid?: boolean | undefined;
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly clock?: (() => number) | undefined;
}

/** Every option present. */
export interface RemoteSettings {
  readonly fetch: FetchLike | undefined;
  readonly dispatcher: Dispatcher | undefined;
  readonly publicAddressesOnly: boolean;
  readonly allowInsecureLoopback: boolean;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly maxKeys: number;
  readonly contentTypes: readonly string[] | "any";
  readonly defaultMaxAgeSeconds: number;
  readonly maxAgeCapSeconds: number;
  readonly minRevalidateIntervalMs: number;
  readonly staleWhileRevalidate: boolean;
  readonly staleIfErrorSeconds: number;
  readonly revalidateWith: "get" | "head";
  readonly forcedRefetchIntervalMs: number;
  readonly forcedRefetchBurst: number;
  readonly failureMemoryMs: number;
  readonly allowMissingKid: boolean;
  readonly clock: () => number;
}

const DAY_SECONDS = 86_400;

export function remoteSettings(options: RemoteKeySetOptions): RemoteSettings {
  const publicAddressesOnly = options.publicAddressesOnly ?? false;
  const ownWays = [options.fetch !== undefined, options.dispatcher !== undefined, publicAddressesOnly];
  if (ownWays.filter(Boolean).length > 1) {
    throw new ConfigurationError(
      "fetch",
      "expected one of fetch, dispatcher and publicAddressesOnly: each connects on its own",
    );
  }
  return {
    fetch: options.fetch,
    dispatcher: options.dispatcher,
    publicAddressesOnly,
    allowInsecureLoopback: options.allowInsecureLoopback ?? false,
    timeoutMs: within("timeoutMs", options.timeoutMs, 5000, 1, 60_000),
    maxBodyBytes: within("maxBodyBytes", options.maxBodyBytes, 65_536, 1, 16 * 1024 * 1024),
    maxKeys: within("maxKeys", options.maxKeys, 64, 1, 10_000),
    contentTypes: options.contentTypes ?? ["application/jwk-set+json", "application/json"],
    defaultMaxAgeSeconds: within("defaultMaxAgeSeconds", options.defaultMaxAgeSeconds, 300, 0, DAY_SECONDS),
    maxAgeCapSeconds: within("maxAgeCapSeconds", options.maxAgeCapSeconds, DAY_SECONDS, 0, 31 * DAY_SECONDS),
    minRevalidateIntervalMs: within("minRevalidateIntervalMs", options.minRevalidateIntervalMs, 10_000, 0, 3_600_000),
    staleWhileRevalidate: options.staleWhileRevalidate ?? true,
    staleIfErrorSeconds: within("staleIfErrorSeconds", options.staleIfErrorSeconds, 0, 0, DAY_SECONDS),
    revalidateWith: options.revalidateWith ?? "get",
    forcedRefetchIntervalMs: within("forcedRefetchIntervalMs", options.forcedRefetchIntervalMs, 20_000, 0, 3_600_000),
    forcedRefetchBurst: within("forcedRefetchBurst", options.forcedRefetchBurst, 1, 1, 1000),
    failureMemoryMs: within("failureMemoryMs", options.failureMemoryMs, 5000, 0, 3_600_000),
    allowMissingKid: options.allowMissingKid ?? false,
    clock: options.clock ?? (() => performance.now()),
  };
}

function within(argument: string, value: number | undefined, fallback: number, least: number, most: number): number {
  if (value === undefined) return fallback;
  if (!Number.isFinite(value) || value < least || value > most) {
    throw new ConfigurationError(argument, `expected a number from ${least} to ${most}`);
  }
  return value;
}
