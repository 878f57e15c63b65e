import { parseHttpDate } from "@signpost/core/adapter";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

const TIMEOUT_MS = 3000;
/** A Date header has whole seconds, and the request takes time too. */
const EXACT_SECONDS = 2.5;
/** Verifiers allow this much between two clocks (FAPI 2.0 section 5.3.2.1). */
const TOLERATED_SECONDS = 10;

/** Compares this machine's clock with the Date header of a host. */
export async function checkClock(url: string, signal: AbortSignal, now: () => number = Date.now): Promise<Finding> {
  const { host } = new URL(url);
  const before = now();
  const date = await dateOf(url, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
  signal.throwIfAborted();
  if (date === undefined) return note("clock", `not compared: ${host} did not say its time`);
  if (date === "cached") return note("clock", `not compared: a cache answered for ${host}`);
  return clockFinding((before + now()) / 2000 - date / 1000, host);
}

/** The finding for a clock that is this many seconds ahead of that of a host. */
export function clockFinding(ahead: number, host: string): Finding {
  const seconds = Math.abs(ahead);
  if (seconds <= EXACT_SECONDS) return ok("clock", `agrees with ${host}`);
  const text = `${seconds.toFixed(0)} s ${ahead > 0 ? "ahead of" : "behind"} ${host}`;
  const todo = "Synchronize the clock of this machine (NTP)";
  return seconds <= TOLERATED_SECONDS
    ? warning("clock", text, todo)
    : problem("clock", text, `${todo}: verifiers refuse tokens from ahead of their time`);
}

/**
 * Milliseconds since 1970. Undefined if the host did not answer, or sent no date. A cache sends the date of the origin's answer,
 * which may be hours old.
 */
async function dateOf(url: string, signal: AbortSignal): Promise<number | "cached" | undefined> {
  try {
    const pastCaches = { "cache-control": "no-cache" };
    const { headers, body } = await fetch(url, { method: "HEAD", redirect: "manual", headers: pastCaches, signal });
    await body?.cancel();
    const date = parseHttpDate(soleDate(headers.get("date") ?? ""), Date.now());
    return headers.has("age") && date !== undefined ? "cached" : date;
  } catch {
    return undefined;
  }
}

/** Two servers on the way may each send one. Fetch joins them. */
function soleDate(value: string): string {
  return /^(?<date>.+), \k<date>$/.exec(value)?.groups?.["date"] ?? value;
}
