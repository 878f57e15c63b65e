import { elapsedMs, parseHttpDate } from "@signpost/core/adapter";
import type { Instant } from "@signpost/core/adapter";
import { deltaSeconds, normalisedCacheControl } from "./cache-control.ts";
import type { ClockReading } from "./clock-reading.ts";
import { soleValue } from "./sole-value.ts";

/** Response headers by lower-case name. */
export type HeaderMap = Readonly<Record<string, string>>;

export interface FreshnessRules {
  /** Lifetime of an answer that does not state one. */
  readonly defaultMaxAgeSeconds: number;
  /** Upper bound of every lifetime and stale window. */
  readonly maxAgeCapSeconds: number;
  /** How long an answer that is stale on arrival is used anyway. */
  readonly minRevalidateIntervalMs: number;
  readonly staleWhileRevalidate: boolean;
  /** The caller's limit beyond the lifetime while refreshing fails, even with `must-revalidate`. */
  readonly staleIfErrorSeconds: number;
}

/** When the server made an answer, as an age at its receipt on our own clocks. `Date` is not used: it is the server's clock. */
export interface Birth {
  readonly receivedAt: Instant;
  /** `Age` plus the time since the request. Milliseconds. */
  readonly ageMs: number;
  /** Whether there was an `Age`, which means that a cache answered. */
  readonly ageIsStated: boolean;
}

/** All times are milliseconds from the receipt of the answer. */
export interface Freshness extends Birth {
  /** How long it is used without a request. */
  readonly freshForMs: number;
  /** How long it is used while it is revalidated in the background (RFC 5861 section 3). */
  readonly staleWhileRevalidateForMs: number;
  /** How long it is used if revalidation fails (RFC 5861 section 4). */
  readonly staleIfErrorForMs: number;
}

/**
 * What RFC 9111 section 4.2 lets a private cache do with an answer. Age counts from the request (section 4.2.3), so a slow answer
 * never looks younger than it is. The cap limits the rest of the lifetime, so an old answer with a long lifetime is stored too.
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

  // no-store forbids storing, and an answer with `Vary: *` matches no request (RFC 9111 section 4.1). Both are kept only for the
  // interval that prevents one request after another.
  const neverFresh = "no-cache" in directives || "no-store" in directives || normal["vary"] === "*";
  const mustAsk = neverFresh || "must-revalidate" in directives;
  const stated = neverFresh || "max-age" in directives || normal["expires"] !== undefined;
  const statedAgeMs = ageSeconds(headers["age"]) * 1000;
  const ageMs = statedAgeMs + elapsedMs(requestedAt, receivedAt);
  // The rest of a stated lifetime. Our default lifetime starts at the receipt, even if a cache kept the answer before.
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
      // A stored answer may never be fresh (max-age=0), so the caller's limit counts from its last check.
      freshForMs + rules.staleIfErrorSeconds * 1000,
    ),
  };
}

/** `Age` has whole seconds. */
const AGE_ROUNDING_MS = 1000;

/**
 * Whether a cached copy was made before the other answer. Only true if the copy has an `Age` and both clocks agree. If a newer
 * answer were treated as older by mistake, a revoked key would stay trusted.
 */
export function isMadeBefore(copy: Birth, other: Birth): boolean {
  if (!copy.ageIsStated) return false;
  return elapsedMs(other.receivedAt, copy.receivedAt) + AGE_ROUNDING_MS < copy.ageMs - other.ageMs;
}

/**
 * The stored headers after a 304 (RFC 9111 section 3.2): its headers replace the stored ones. `Age` and `Date` belong to one answer,
 * so the old ones never stay.
 */
export function headersAfter304(stored: HeaderMap, notModified: HeaderMap): HeaderMap {
  const { age: _age, date: _date, ...kept } = stored;
  const { "content-length": _length, "content-encoding": _encoding, "content-type": _type, ...changed } = notModified;
  return { ...kept, ...changed };
}

/**
 * Corrects headers that the library reads differently. It treats a negative Age as a later creation, and reads the year 0001 as 2001
 * (`Date.parse`). It measures `Expires` without `Date` against its own clock, and sees `*` in `Vary` only if it is the only member.
 */
function normalised(headers: HeaderMap, wallClock: number): Record<string, string> {
  const normal: Record<string, string> = { ...headers };
  const { expires, pragma, vary = "" } = headers;
  const cacheControl = headers["cache-control"];
  if (cacheControl !== undefined) normal["cache-control"] = normalisedCacheControl(cacheControl);
  // Without a valid date, an answer was made when it arrived (RFC 9110 section 6.6.1).
  normal["date"] = normalisedDate(headers["date"], wallClock) ?? new Date(wallClock).toISOString();
  // An invalid `Expires` is in the past (RFC 9111 section 5.3), even if the server's clock is far behind.
  if (expires !== undefined) normal["expires"] = normalisedDate(expires, wallClock) ?? normal["date"];
  if (vary.split(",").some((member) => member.trim() === "*")) normal["vary"] = "*";
  normal["age"] = String(ageSeconds(headers["age"]));
  // Without Cache-Control, `no-cache` in Pragma means the same (RFC 9111 section 5.4), in upper or lower case.
  if (pragma !== undefined) normal["pragma"] = pragma.toLowerCase();
  return normal;
}

function normalisedDate(value: string | undefined, now: number): string | undefined {
  const date = value === undefined ? undefined : parseHttpDate(soleValue(value), now);
  return date === undefined ? undefined : new Date(date).toISOString();
}

/** RFC 9111 section 5.1: the first of several values. */
function ageSeconds(age = ""): number {
  return deltaSeconds(age.split(",", 1)[0]?.trim());
}
