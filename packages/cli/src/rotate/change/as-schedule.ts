import type { ConfigEntry, ConfigSchedule } from "../../config/config.ts";
import { instantText } from "../timeline/instants.ts";

const SECOND = 1000;
/** The defaults of a schedule: `clockSkewSeconds`, and the least time from an announcement to the activation. */
const SKEW = 60 * SECOND;
const LEAD = 4 * 3600 * SECOND + SKEW;

/**
 * A list of keys as a schedule that publishes the same now: the first key signs. The others count as retired just now, since the
 * list does not say when they stopped, so they stay published as long as a token of theirs may be valid. The dates are a clock skew
 * ago, so that a replica with a slow clock agrees.
 */
export function asSchedule(list: readonly ConfigEntry[], maxTokenLifetimeSeconds: number, now: number): ConfigSchedule {
  const signsFrom = Math.floor(now / SECOND) * SECOND - SKEW;
  const announcedFrom = list.length === 1 ? signsFrom : signsFrom - list.length * SECOND - LEAD;
  return {
    maxTokenLifetimeSeconds,
    entries: list.map((entry, index) => ({
      ...entry,
      announcedFrom: instantText(announcedFrom),
      activeFrom: instantText(signsFrom - index * SECOND),
    })),
  };
}
