import { parseHttpDate } from "@signpost/core/adapter";
import { headerOf } from "./exchange.ts";
import type { Answer } from "./exchange.ts";

/** What an answer tells caches about its lifetime (RFC 9111 sections 4.2 and 5.2.2, RFC 5861). All times in seconds. */
export interface Lifetime {
  /** Undefined if the answer states none, so that each cache decides. */
  readonly freshFor: number | undefined;
  /** The same for shared caches. */
  readonly sharedFreshFor: number | undefined;
  /** How long a stale copy may be served while it is revalidated. */
  readonly staleFor: number;
  /** How old the answer was on arrival. */
  readonly age: number;
  /** Whether a cache said so. */
  readonly isAgeStated: boolean;
  readonly directives: ReadonlyMap<string, readonly string[]>;
}

/** RFC 9111 section 1.2.2: a larger number counts as this one. */
const MAX_SECONDS = 2 ** 31;

const DIRECTIVE = /([^\s=,;]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]*)))?/g;

/** Reads `Cache-Control`. Names in lower case, and all values of a name. */
export function cacheDirectives(value = ""): ReadonlyMap<string, readonly string[]> {
  const directives = new Map<string, readonly string[]>();
  for (const [, name = "", quoted, plain] of value.matchAll(DIRECTIVE)) {
    const key = name.toLowerCase();
    directives.set(key, [...(directives.get(key) ?? []), quoted ?? plain ?? ""]);
  }
  return directives;
}

/** Reads the lifetime of an answer. */
export function lifetimeOf(answer: Answer): Lifetime {
  const directives = cacheDirectives(headerOf(answer, "cache-control"));
  const isNeverFresh = directives.has("no-store") || directives.has("no-cache");
  const stated = isNeverFresh ? 0 : (seconds(directives, "max-age") ?? expiresIn(answer));
  const mustAsk = isNeverFresh || directives.has("must-revalidate");
  const age = ageOf(answer);
  return {
    freshFor: stated,
    sharedFreshFor: directives.has("private") ? 0 : (seconds(directives, "s-maxage") ?? stated),
    staleFor: mustAsk ? 0 : (seconds(directives, "stale-while-revalidate") ?? 0),
    age: age ?? 0,
    isAgeStated: age !== undefined,
    directives,
  };
}

/** How long a relying party may use a copy without asking again, from the time that the origin made it. */
export function directSeconds({ freshFor = 0, staleFor }: Lifetime): number {
  return freshFor + staleFor;
}

/**
 * How long until the last relying party behind a shared cache asks again. A shared cache that sends no `Age` makes an old copy look
 * new, so both lifetimes count.
 */
export function sharedSeconds(lifetime: Lifetime): number {
  const { sharedFreshFor = 0, staleFor } = lifetime;
  // Nothing is stored in a shared cache that may not keep it.
  return directSeconds(lifetime) + (sharedFreshFor === 0 ? 0 : sharedFreshFor + staleFor);
}

/** Two values that differ count as stale (RFC 9111 section 4.2.1), and so does one that is not a number. */
function seconds(directives: ReadonlyMap<string, readonly string[]>, name: string): number | undefined {
  const values = directives.get(name);
  if (values === undefined) return undefined;
  const [first = ""] = values;
  if (new Set(values).size > 1 || !/^\d+$/.test(first)) return 0;
  return Math.min(Number(first), MAX_SECONDS);
}

/** An invalid `Expires` is in the past (RFC 9111 section 5.3). */
function expiresIn(answer: Answer): number | undefined {
  const expires = headerOf(answer, "expires");
  if (expires === undefined) return undefined;
  const date = dateOf(answer) ?? answer.sentAt;
  const left = (parseHttpDate(expires, date) ?? date) - date;
  return Math.max(0, Math.floor(left / 1000));
}

/** When the origin made the answer, in milliseconds since 1970. Undefined if it does not say. */
export function dateOf(answer: Answer): number | undefined {
  return parseHttpDate(headerOf(answer, "date") ?? "", answer.sentAt);
}

/** The first of several values (RFC 9111 section 5.1). */
function ageOf(answer: Answer): number | undefined {
  const [first] = headerOf(answer, "age")?.split(",", 1) ?? [];
  if (first === undefined) return undefined;
  return /^\d+$/.test(first.trim()) ? Math.min(Number(first), MAX_SECONDS) : 0;
}
