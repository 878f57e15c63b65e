import { elapsedMs } from "@signpost/core/adapter";
import type { Instant } from "@signpost/core/adapter";
import { deltaSeconds, normalisedCacheControl } from "./cache-control.ts";
import type { ClockReading } from "./clock-reading.ts";
import { parseHttpDate } from "./http-date.ts";
import { soleValue } from "./sole-value.ts";

/** Response headers by lower-case name. */
export type HeaderMap = Readonly<Record<string, string>>;

export interface FreshnessRules {
  /** Lifetime of an answer that states none. */
  readonly defaultMaxAgeSeconds: number;
  /** Upper bound of every lifetime and stale window. */
  readonly maxAgeCapSeconds: number;
  /** An answer that is stale on arrival is used this long all the same. */
  readonly minRevalidateIntervalMs: number;
  readonly staleWhileRevalidate: boolean;
  /** The caller's own bound past the lifetime, also past `must-revalidate`, while refreshing fails. */
  readonly staleIfErrorSeconds: number;
}

/** When the server made an answer, on our own clocks: so long before its receipt. Never by `Date`, which is the server's clock. */
export interface Birth {
  readonly receivedAt: Instant;
  /** `Age`, and the time since the request. Milliseconds. */
  readonly ageMs: number;
  /** Whether there was an `Age`: the answer came from a cache on the way. */
  readonly ageIsStated: boolean;
}

/** All times count from the receipt of the answer, in milliseconds. */
export interface Freshness extends Birth {
  /** How long it is used without asking. */
  readonly freshForMs: number;
  /** How long it is used while it is revalidated in the background (RFC 5861 section 3). */
  readonly staleWhileRevalidateForMs: number;
  /** How long it is used when revalidating failed (RFC 5861 section 4). */
  readonly staleIfErrorForMs: number;
}

/**
 * What RFC 9111 section 4.2 lets a private cache do with an answer. Age counts from the request
 * (section 4.2.3), so a slow answer is never taken for younger than it is. The cap bounds what is left of the lifetime, so that
 * an old answer of a long lifetime is stored as well.
 */
export async function freshnessOf(
  headers: HeaderMap,
  { requestedAt, receivedAt }: { requestedAt: Instant; receivedAt: ClockReading },
  rules: FreshnessRules,
): Promise<Freshness> {
  const { default: CachePolicy } = await import("http-cache-semantics");
  const normal = normalised(headers, receivedAt.date);
  const policy = new CachePolicy(
    { headers: {} },
    { status: 200, headers: normal },
    { shared: false, immutableMinTimeToLive: 0 },
  );
  const directives = policy.toObject().rescc;
  const capMs = rules.maxAgeCapSeconds * 1000;

  // no-store forbids storing at all, and what varies by everything matches no request (RFC 9111 section 4.1): the least that one
  // process can do is to keep it no longer than the interval that keeps it from asking in a loop.
  const neverFresh = "no-cache" in directives || "no-store" in directives || normal["vary"] === "*";
  const mustAsk = neverFresh || "must-revalidate" in directives;
  const stated = neverFresh || "max-age" in directives || normal["expires"] !== undefined;
  const statedAgeMs = ageSeconds(headers["age"]) * 1000;
  const ageMs = statedAgeMs + elapsedMs(requestedAt, receivedAt);
  // What is left of a stated lifetime. Our own begins with the receipt, however long a cache has kept an answer that states none.
  const leftMs = stated ? policy.maxAge() * 1000 - ageMs : rules.defaultMaxAgeSeconds * 1000;
  const expiresInMs = Math.min(capMs, leftMs);
  const freshForMs = expiresInMs > 0 ? expiresInMs : rules.minRevalidateIntervalMs;

  const windowMs = (name: string): number => (mustAsk ? 0 : Math.min(capMs, deltaSeconds(directives[name]) * 1000));
  const staleWhileRevalidateForMs = expiresInMs + (rules.staleWhileRevalidate ? windowMs("stale-while-revalidate") : 0);
  return {
    receivedAt,
    ageMs,
    ageIsStated: statedAgeMs > 0,
    freshForMs,
    staleWhileRevalidateForMs,
    staleIfErrorForMs: Math.max(
      staleWhileRevalidateForMs,
      expiresInMs + windowMs("stale-if-error"),
      // A stored answer may not be fresh at all (max-age=0), so the caller's bound counts from its last check.
      freshForMs + rules.staleIfErrorSeconds * 1000,
    ),
  };
}

/** `Age` has whole seconds. */
const AGE_ROUNDING_MS = 1000;

/**
 * Whether a cache made its copy before the other answer was made. Only where it states an `Age`, and where both clocks agree: an
 * answer that is taken for older by mistake would keep a revoked key alive.
 */
export function isMadeBefore(copy: Birth, other: Birth): boolean {
  if (!copy.ageIsStated) return false;
  return elapsedMs(other.receivedAt, copy.receivedAt) + AGE_ROUNDING_MS < copy.ageMs - other.ageMs;
}

/**
 * The stored headers after a 304 (RFC 9111 section 3.2): what it carries replaces what was stored. `Age`
 * and `Date` tell of one answer only, so those of the old one never stay.
 */
export function headersAfter304(stored: HeaderMap, notModified: HeaderMap): HeaderMap {
  const { age: _age, date: _date, ...kept } = stored;
  const { "content-length": _length, "content-encoding": _encoding, "content-type": _type, ...changed } = notModified;
  return { ...kept, ...changed };
}

/**
 * The library takes a negative Age for a later birth, reads dates by `Date.parse`, so that the year 0001 is 2001, measures `Expires` without `Date` against its
 * own clock, and sees `*` in `Vary` only where it stands alone.
 */
function normalised(headers: HeaderMap, wallClock: number): Record<string, string> {
  const normal: Record<string, string> = { ...headers };
  const { expires, pragma, vary = "" } = headers;
  const cacheControl = headers["cache-control"];
  if (cacheControl !== undefined) normal["cache-control"] = normalisedCacheControl(cacheControl);
  // Without a date that can be read, an answer was made when it came (RFC 9110 section 6.6.1).
  normal["date"] = normalisedDate(headers["date"], wallClock) ?? new Date(wallClock).toISOString();
  // And an `Expires` that cannot is over (RFC 9111 section 5.3), however far back the server's own clock is.
  if (expires !== undefined) normal["expires"] = normalisedDate(expires, wallClock) ?? normal["date"];
  if (vary.split(",").some((member) => member.trim() === "*")) normal["vary"] = "*";
  normal["age"] = String(ageSeconds(headers["age"]));
  // Where there is no Cache-Control, `no-cache` here says the same (RFC 9111 section 5.4), in capitals or not.
  if (pragma !== undefined) normal["pragma"] = pragma.toLowerCase();
  return normal;
}

function normalisedDate(value: string | undefined, now: number): string | undefined {
  const date = value === undefined ? undefined : parseHttpDate(soleValue(value), now);
  return date === undefined ? undefined : new Date(date).toISOString();
}

/** RFC 9111 section 5.1: the first of several. */
function ageSeconds(age = ""): number {
  return deltaSeconds(age.split(",", 1)[0]?.trim());
}
