import { setTimeout as delay } from "node:timers/promises";
import { elapsedMs, readInstant } from "@signpost/core/adapter";
import { MAX_BYTES } from "../check-issuer.ts";
import type { ProbeOptions } from "../check-issuer.ts";
import { locate } from "../probe/locate.ts";
import { createProber } from "../probe/prober.ts";
import { get } from "../probe/requests.ts";
import type { Target } from "../probe/target.ts";
import { noAnswer } from "../rules/transport.ts";
import { observe } from "./observe.ts";
import { nextMoment, observed, passed, WATCH_START } from "./state.ts";
import type { WatchEvent, WatchState } from "./state.ts";

/** How a key set is watched. */
export interface WatchOptions extends ProbeOptions {
  /** Between two looks, in milliseconds. */
  readonly intervalMs: number;
}

/** What a watch sees. */
export interface Watched {
  readonly state: WatchState;
  readonly events: readonly WatchEvent[];
}

/**
 * Looks at the key set again and again, as a relying party without a cache, and tells what changed. Ends when the caller stops
 * reading. Rejects when the signal aborts.
 */
export async function* watch(target: Target, options: WatchOptions): AsyncGenerator<Watched, void> {
  const { isStrict, intervalMs, signal } = options;
  const prober = createProber(target.url, { ...options, maxBytes: MAX_BYTES });
  const { first, discovery } = await locate(target, prober);
  let state = WATCH_START;
  if (first === undefined) {
    const [asked] = discovery.map(({ exchange }) => exchange);
    const isAway = asked?.kind === "no-answer";
    const why = isAway ? noAnswer(asked) : "no discovery document tells where the key set is";
    yield { state, events: [{ event: "away", at: Date.now(), why }] };
    return;
  }
  let { exchange } = first;
  const place = exchange.request.url;
  for (;;) {
    const step = observed(state, observe(exchange, Date.now()), isStrict);
    yield step;
    ({ state } = step);
    // By either clock, so that the watch goes on after the wall clock was set back.
    const lookedAt = readInstant();
    for (let leftMs = intervalMs; leftMs > 0; leftMs = intervalMs - elapsedMs(lookedAt)) {
      const now = Date.now();
      const due = passed(state, now);
      ({ state } = due);
      if (due.events.length > 0) yield due;
      const untilMomentMs = nextMoment(state) - now;
      await delay(Math.max(0, Math.min(leftMs, untilMomentMs)), undefined, { signal });
    }
    exchange = await prober.ask(get(place));
  }
}
