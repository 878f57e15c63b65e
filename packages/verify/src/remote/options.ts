import { ConfigurationError } from "@signpost/core";
import {
  assertOptions,
  given,
  readCallback,
  readChoice,
  readFlag,
  readInstant,
  readNumber,
  readWholeNumber,
} from "@signpost/core/adapter";
import type { Clocks, OptionNames } from "@signpost/core/adapter";
import type { Dispatcher } from "undici";
import type { ClockReading } from "../http/clock-reading.ts";
import { createClockReader } from "../http/clock-reading.ts";
import type { Hosts } from "../http/hosts.ts";
import { createHosts, hostsBehind } from "../http/hosts.ts";
import { isMediaType } from "../http/media-type.ts";
import type { FetchLike } from "../http/request.ts";
import { readMaxKeys } from "../jwk/parse-jwks.ts";
import { readTexts } from "../read-options.ts";

/** Options of `createRemoteKeySet` and `discoverKeySet`. */
export interface RemoteKeySetOptions {
  /** Called with `redirect: "manual"`. It must not follow redirects. Excludes `dispatcher`. Default: Node's own HTTP client. */
  readonly fetch?: FetchLike | undefined;
  /**
   * An undici 7 dispatcher, for proxies, client certificates or private certificate authorities. Excludes `fetch`. Default: the one that
   * the program has set with undici's `setGlobalDispatcher` or with `NODE_USE_ENV_PROXY`, or none.
   */
  readonly dispatcher?: Dispatcher | undefined;
  /**
   * For URLs that another party chose (an RP's `jwks_uri`). Refuses private, loopback, link-local and metadata addresses when the
   * socket connects. Excludes `fetch` and `dispatcher`. To allow some networks, or to share connections between many sets, pass
   * `createPublicDispatcher({ allowSubnets })` as `dispatcher` instead. Default false.
   */
  readonly publicAddressesOnly?: boolean | undefined;
  /** Allows `http:` on loopback hosts, for development. Default false. */
  readonly allowInsecureLoopback?: boolean | undefined;
  /**
   * Time for one answer: connecting, waiting and reading, over all requests that it needs (HEAD, then GET). Whole milliseconds, 1 to
   * 60,000, default 5000.
   */
  readonly timeoutMs?: number | undefined;
  /** Maximum size of the body, after decompression. Whole bytes, 1 to 16,777,216, default 65,536. */
  readonly maxBodyBytes?: number | undefined;
  /** Maximum number of entries in a set, usable or not. A whole number, 1 to 10,000, default 64. */
  readonly maxKeys?: number | undefined;
  /**
   * Accepted media types of the set and of a discovery document: at least one, in lower case and without parameters, or `"any"`.
   * Default `application/jwk-set+json` and `application/json` for the set, `application/json` for a discovery document.
   */
  readonly contentTypes?: readonly string[] | "any" | undefined;
  /** Lifetime of an answer that does not state one. Seconds, 0 to 86,400, default 300. */
  readonly defaultMaxAgeSeconds?: number | undefined;
  /** Maximum for every lifetime and stale window. Seconds, 0 to 2,678,400 (31 days), default 86,400. */
  readonly maxAgeCapSeconds?: number | undefined;
  /**
   * How long an answer is used that is stale on arrival (`max-age=0`, `no-cache`, `no-store`). 0 sends a request on every use.
   * Milliseconds, 0 to 3,600,000, default 10,000.
   */
  readonly minRevalidateIntervalMs?: number | undefined;
  /** With `false`, callers wait for each revalidation. With `true`, they get the stale set meanwhile. Default true. */
  readonly staleWhileRevalidate?: boolean | undefined;
  /**
   * How long after its lifetime a set may be used while refreshing fails, even with `must-revalidate`. A revoked key stays trusted for
   * that long. Seconds, 0 to 86,400, default 0.
   */
  readonly staleIfErrorSeconds?: number | undefined;
  /** `head` sends HEAD first, and GET only if the ETag differs or HEAD is refused. After a timeout, only GET is sent. Default `get`. */
  readonly revalidateWith?: "get" | "head" | undefined;
  /** Time between two forced refetches for an unknown `kid`. 0 means no limit. Milliseconds, 0 to 3,600,000, default 20,000. */
  readonly forcedRefetchIntervalMs?: number | undefined;
  /** Number of forced refetches that may follow each other without a pause. A whole number, 1 to 1000, default 1. */
  readonly forcedRefetchBurst?: number | undefined;
  /** How long a failed request is not repeated. `Retry-After` can make it longer. Milliseconds, 0 to 3,600,000, default 5000. */
  readonly failureMemoryMs?: number | undefined;
  /** Accepts a header without `kid` if exactly one key fits. Default false. */
  readonly allowMissingKid?: boolean | undefined;
  /**
   * Returns monotonic milliseconds. It may stop while the machine sleeps, so ages follow this clock or `now`, whichever is faster.
   * Default `performance.now`.
   */
  readonly clock?: (() => number) | undefined;
  /** Returns milliseconds since the epoch. This clock may be changed. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

export const REMOTE_KEY_SET_OPTIONS: OptionNames<RemoteKeySetOptions> = {
  fetch: true,
  dispatcher: true,
  publicAddressesOnly: true,
  allowInsecureLoopback: true,
  timeoutMs: true,
  maxBodyBytes: true,
  maxKeys: true,
  contentTypes: true,
  defaultMaxAgeSeconds: true,
  maxAgeCapSeconds: true,
  minRevalidateIntervalMs: true,
  staleWhileRevalidate: true,
  staleIfErrorSeconds: true,
  revalidateWith: true,
  forcedRefetchIntervalMs: true,
  forcedRefetchBurst: true,
  failureMemoryMs: true,
  allowMissingKid: true,
  clock: true,
  now: true,
};

/** All options, checked and with defaults. */
export type RemoteSettings = {
  readonly [Name in Exclude<keyof RemoteKeySetOptions, "fetch" | "dispatcher" | "clock" | "now">]-?: Exclude<
    RemoteKeySetOptions[Name],
    undefined
  >;
} & Pick<Required<RemoteKeySetOptions>, "fetch" | "dispatcher"> & {
    /** Reads both clocks. All users of the settings share it, because instants of two readers cannot be compared. */
    readonly instant: () => ClockReading;
    /** All users of the settings also share connections. */
    readonly hosts: Hosts;
  };

const HOUR_MS = 3_600_000;
const DAY_SECONDS = 86_400;

/** Checks the options once for a set. */
export function remoteSettings(options: RemoteKeySetOptions): RemoteSettings {
  assertOptions("options", options, REMOTE_KEY_SET_OPTIONS);
  const whole = (name: keyof RemoteKeySetOptions, fallback: number, min: number, max: number): number =>
    readWholeNumber(name, options[name] === undefined ? fallback : options[name], min, max);
  const number = (name: keyof RemoteKeySetOptions, fallback: number, min: number, max: number): number =>
    readNumber(name, options[name] === undefined ? fallback : options[name], min, max);
  const { revalidateWith = "get", clock, now } = options;
  const clocks = { clock: readCallback("clock", clock), now: readCallback("now", now) };
  const connection = readConnection(options);
  return {
    ...connection,
    hosts: hostsOf(connection, clocks),
    allowInsecureLoopback: readFlag("allowInsecureLoopback", options.allowInsecureLoopback),
    timeoutMs: whole("timeoutMs", 5000, 1, 60_000),
    maxBodyBytes: whole("maxBodyBytes", 65_536, 1, 16 * 1024 * 1024),
    maxKeys: readMaxKeys(options.maxKeys),
    contentTypes: readContentTypes(options.contentTypes),
    defaultMaxAgeSeconds: number("defaultMaxAgeSeconds", 300, 0, DAY_SECONDS),
    maxAgeCapSeconds: number("maxAgeCapSeconds", DAY_SECONDS, 0, 31 * DAY_SECONDS),
    minRevalidateIntervalMs: number("minRevalidateIntervalMs", 10_000, 0, HOUR_MS),
    staleWhileRevalidate: readFlag("staleWhileRevalidate", options.staleWhileRevalidate, true),
    staleIfErrorSeconds: number("staleIfErrorSeconds", 0, 0, DAY_SECONDS),
    revalidateWith: readChoice("revalidateWith", revalidateWith, ["get", "head"]),
    forcedRefetchIntervalMs: number("forcedRefetchIntervalMs", 20_000, 0, HOUR_MS),
    forcedRefetchBurst: whole("forcedRefetchBurst", 1, 1, 1000),
    failureMemoryMs: number("failureMemoryMs", 5000, 0, HOUR_MS),
    allowMissingKid: readFlag("allowMissingKid", options.allowMissingKid),
    instant: createClockReader(clocks),
  };
}

/** Readings of the caller's own clocks cannot be compared with others. */
function hostsOf(
  { fetch, dispatcher, publicAddressesOnly }: Pick<RemoteSettings, "fetch" | "dispatcher" | "publicAddressesOnly">,
  clocks: Clocks,
): Hosts {
  if (clocks.clock !== undefined || clocks.now !== undefined) return createHosts(() => readInstant(clocks));
  return publicAddressesOnly ? createHosts(readInstant) : hostsBehind(fetch ?? dispatcher);
}

function readConnection({
  fetch,
  dispatcher,
  publicAddressesOnly,
}: RemoteKeySetOptions): Pick<RemoteSettings, "fetch" | "dispatcher" | "publicAddressesOnly"> {
  const publicOnly = readFlag("publicAddressesOnly", publicAddressesOnly);
  if ([fetch !== undefined, dispatcher !== undefined, publicOnly].filter(Boolean).length > 1) {
    throw new ConfigurationError(
      "fetch",
      "expected at most one of fetch, dispatcher and publicAddressesOnly: each opens its own connections",
    );
  }
  if (dispatcher !== undefined && typeof (Object(dispatcher) as Partial<Dispatcher>).dispatch !== "function") {
    throw new ConfigurationError("dispatcher", `expected an undici dispatcher, got ${given(dispatcher)}`);
  }
  return { fetch: readCallback("fetch", fetch), dispatcher, publicAddressesOnly: publicOnly };
}

function readContentTypes(value: RemoteKeySetOptions["contentTypes"]): readonly string[] | "any" {
  if (value === undefined) return ["application/jwk-set+json", "application/json"];
  if (value === "any") return value;
  const types = readTexts("contentTypes", value);
  // No answer's type can equal any other text, so every answer would be refused.
  if (types.length > 0 && types.every(isMediaType)) return types;
  throw new ConfigurationError(
    "contentTypes",
    'expected media types in lower case and without parameters, such as application/json, or "any"',
  );
}
