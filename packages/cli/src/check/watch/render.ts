import type { Colors } from "../../terminal/colors.ts";
import { duration } from "../../terminal/duration.ts";
import { printable } from "../../terminal/printable.ts";
import { excerpt } from "../excerpt.ts";
import type { WatchEvent } from "./state.ts";

type AnnouncedEvent = Extract<WatchEvent, { event: "announced" }>;

/** As wide as a time. */
const INDENT = " ".repeat(22);

/** A few lines for people. */
export function renderEvent(event: WatchEvent, colors: Colors): string {
  const [first = "", ...others] = told(event, colors);
  const below = others.map((line) => `\n${INDENT}${line}`).join("");
  return `${colors.dim(time(event.at))}  ${first}${below}`;
}

/** A line of JSON for programs, with times as text. Characters that a terminal obeys are escaped, as JSON allows. */
export function eventToJson(event: WatchEvent): string {
  return printable(JSON.stringify(withTimes(event)));
}

function withTimes(event: WatchEvent): Readonly<Record<string, unknown>> {
  const times = new Set(["at", "direct", "shared", "trustedUntil", "inUseUntil"]);
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => {
      if (!times.has(name)) return [name, value];
      return [name, typeof value === "number" ? new Date(value).toISOString() : null];
    }),
  );
}

function told(event: WatchEvent, colors: Colors): readonly string[] {
  switch (event.event) {
    case "watching":
      return [`watching ${event.keys.map((key) => name(key)).join(", ")}`, header(event.cacheControl)];
    case "announced":
      return [`${colors.bold(name(event.key))} is announced`, ...maySign(event)];
    case "may-sign":
      return [
        colors.green(
          `${name(event.key)} may sign${event.behindSharedCache ? "" : " if no shared cache is in between"}`,
        ),
      ];
    case "withdrawn":
      return [`${colors.bold(name(event.key))} is withdrawn`, trusted(event.trustedUntil)];
    case "lifetime":
      return [`now ${header(event.cacheControl)}`];
    case "older":
      return [`a cache still serves an older set, Age ${duration(event.age)}`, inUse(event.inUseUntil)];
    case "fault":
      return [`${colors.red(event.severity.toUpperCase())} ${event.seen}`, `→ ${event.advice}`];
    case "away":
      return [`${colors.yellow("no key set")}: ${event.why}`];
    case "back":
      return ["the key set is back"];
  }
}

function maySign({ direct, shared }: Pick<AnnouncedEvent, "direct" | "shared">): readonly string[] {
  if (direct === undefined || shared === undefined) {
    return ["earlier answers stated no lifetime, so it is not known when it may sign"];
  }
  const first = `it may sign from ${time(direct)}`;
  return direct === shared ? [first] : [first, `behind a shared cache, from ${time(shared)}`];
}

/** A kid as a terminal may show it. */
function name(kid: string): string {
  return excerpt(kid, 60);
}

function trusted(until: number | undefined): string {
  return until === undefined
    ? "caches may trust it for as long as they like"
    : `caches may trust it until ${time(until)}`;
}

function inUse(until: number | undefined): string {
  return until === undefined
    ? "relying parties may use it for as long as they like"
    : `relying parties may use it until ${time(until)}`;
}

function header(cacheControl: string): string {
  return cacheControl === "" ? "no Cache-Control" : `Cache-Control: ${excerpt(cacheControl)}`;
}

function time(at: number): string {
  return `${new Date(Math.ceil(at / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}
