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

/** Instants on the monotonic clock, in milliseconds. */
export interface Freshness {
  /** Until then the answer is used without asking. */
  readonly freshUntil: number;
  /** Until then it is used while it is revalidated in the background (RFC 5861 section 3). */
  readonly staleWhileRevalidateUntil: number;
  /** Until then it is used when revalidating failed (RFC 5861 section 4). */
  readonly staleIfErrorUntil: number;
  /** When the answer was made, as far as its `Age` tells. */
  readonly madeAt: number;
}

/**
 * What RFC 9111 section 4.2 lets a private cache do with an answer. Age counts from the request
 * (section 4.2.3), so a slow answer is never taken for younger than it is.
 */
export async function freshnessOf(
  headers: HeaderMap,
  times: { requestedAt: number; receivedAt: number; wallClock: number },
  rules: FreshnessRules,
): Promise<Freshness> {
  const { default: CachePolicy } = await import("http-cache-semantics");
  const normal = normalised(headers, times.wallClock);
  const policy = new CachePolicy(
    { headers: {} },
    { status: 200, headers: normal },
    { shared: false, immutableMinTimeToLive: 0 },
  );
  const directives = policy.toObject().rescc;
  const capMs = rules.maxAgeCapSeconds * 1000;

  // no-store forbids storing at all: the least that one process can do is to keep it no longer than the
  // interval that keeps it from asking in a loop.
  const mustAsk = "must-revalidate" in directives || "no-cache" in directives || "no-store" in directives;
  const stated =
    "max-age" in directives || normal["expires"] !== undefined || "no-cache" in directives || "no-store" in directives;
  const lifetimeMs = Math.min(capMs, (stated ? policy.maxAge() : rules.defaultMaxAgeSeconds) * 1000);
  const madeAt = times.requestedAt - Number(normal["age"] ?? 0) * 1000;
  const expiresAt = madeAt + lifetimeMs;
  const freshUntil = expiresAt > times.receivedAt ? expiresAt : times.receivedAt + rules.minRevalidateIntervalMs;

  const windowMs = (name: string): number => (mustAsk ? 0 : Math.min(capMs, deltaSeconds(directives[name]) * 1000));
  const staleWhileRevalidateUntil = expiresAt + (rules.staleWhileRevalidate ? windowMs("stale-while-revalidate") : 0);
  return {
    freshUntil,
    staleWhileRevalidateUntil,
    staleIfErrorUntil: Math.max(
      staleWhileRevalidateUntil,
      expiresAt + windowMs("stale-if-error"),
      // A stored answer may not be fresh at all (max-age=0), so the caller's bound counts from its last check.
      freshUntil + rules.staleIfErrorSeconds * 1000,
    ),
    madeAt,
  };
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
 * The library compares directive names by case, takes the last of repeated ones and a negative Age for a
 * later birth, and measures `Expires` without `Date` against its clock, which here is no calendar.
 */
function normalised(headers: HeaderMap, wallClock: number): Record<string, string> {
  const normal: Record<string, string> = { ...headers };
  const cacheControl = headers["cache-control"]?.toLowerCase();
  if (cacheControl !== undefined) {
    // Repeated max-age is invalid freshness information: stale (RFC 9111 section 4.2.1).
    const repeated = (cacheControl.match(/(?:^|,)\s*max-age\s*(?==|,|$)/g) ?? []).length > 1;
    normal["cache-control"] = repeated ? `${cacheControl}, max-age=0` : cacheControl;
  }
  if (Number.isNaN(Date.parse(headers["date"] ?? ""))) normal["date"] = new Date(wallClock).toUTCString();
  normal["age"] = String(ageSeconds(headers["age"]));
  return normal;
}

/** RFC 9111 section 5.1: the first of several. */
function ageSeconds(age = ""): number {
  return deltaSeconds(age.split(",", 1)[0]?.trim());
}

/** RFC 9111 section 1.2.2: digits alone; anything else counts as 0, and 2^31 stands for all that is longer. */
function deltaSeconds(value: unknown): number {
  if (typeof value !== "string" || !/^\d+$/.test(value)) return 0;
  return Math.min(Number(value), 2 ** 31);
}
