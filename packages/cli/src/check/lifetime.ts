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
  readonly directives: CacheControl["directives"];
  readonly unreadable: CacheControl["unreadable"];
}

/** RFC 9111 section 1.2.2: a larger number counts as this one. */
const MAX_SECONDS = 2 ** 31;

/** A name (RFC 9110 section 5.6.2), and an argument that may be quoted. */
const DIRECTIVE = /^([!#$%&'*+\-.^_`|~\w]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|(.*)))?$/s;

/** `Cache-Control` as caches read it. */
interface CacheControl {
  /** Names in lower case, and all values of a name. */
  readonly directives: ReadonlyMap<string, readonly string[]>;
  /** What caches ignore because it is no directive, such as two of them with a semicolon in between. */
  readonly unreadable: readonly string[];
}

function readCacheControl(value = ""): CacheControl {
  const directives = new Map<string, string[]>();
  const unreadable: string[] = [];
  for (const part of partsOf(value).map((one) => one.trim())) {
    const [, name, quoted, plain = ""] = DIRECTIVE.exec(part) ?? [];
    if (name === undefined) {
      if (part !== "") unreadable.push(part);
      continue;
    }
    const values = directives.get(name.toLowerCase()) ?? [];
    values.push(quoted ?? plain);
    directives.set(name.toLowerCase(), values);
  }
  return { directives, unreadable };
}

/** Splits at the commas outside quotes. If a quote is not closed, at every comma: it must not hide a `no-store`. */
function partsOf(value: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < value.length; at += 1) {
    const character = value[at];
    if (character === '"') isQuoted = !isQuoted;
    // What comes after a backslash in quotes does not end them (RFC 9110 section 5.6.4).
    else if (character === "\\" && isQuoted) at += 1;
    else if (character === "," && !isQuoted) {
      parts.push(value.slice(start, at));
      start = at + 1;
    }
  }
  return isQuoted ? value.split(",") : [...parts, value.slice(start)];
}

/** Reads the lifetime of an answer. */
export function lifetimeOf(answer: Answer): Lifetime {
  const { directives, unreadable } = readCacheControl(headerOf(answer, "cache-control"));
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
    unreadable,
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
