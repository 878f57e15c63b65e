import { readTrailingKeys } from "../keyset/create-key-set.ts";
import type { KeySet, PublishedKey, RotationSchedule } from "../keyset/types.ts";
import { assertOptions } from "../options/assert-options.ts";
import { readCallback } from "../options/read-values.ts";
import { readClock } from "../options/read-clock.ts";
import { requireCertificates } from "./certificates.ts";
import { dropReporter } from "./drop-reporter.ts";
import { createPublisher, requireDistinct } from "./publish.ts";
import {
  readDurations,
  readEntries,
  requireUsable,
  type RotationScheduleOptions,
  SCHEDULE_OPTIONS,
} from "./schedule-options.ts";
import type { ScheduledEntry } from "./scheduled-entry.ts";
import { changesOf, isIn, planTimeline, requireAnnouncements, shortCachingOfAll } from "./timeline.ts";

/** What the schedule returns between two changes. */
interface State {
  readonly from: number;
  readonly until: number;
  readonly keySet: KeySet;
  readonly withdrawn: readonly PublishedKey[];
  readonly rotation: boolean;
}

/**
 * A rotation as a pure function of time. Each key goes through these phases: announced (published, not signing), active,
 * retiring (published until the last token it signed has expired), withdrawn (kept only for `id_token_hint`), and
 * dropped. Replicas with the same entries need no coordination, since they publish the same bytes. As long as their
 * clocks differ by less than the skew, no replica signs a token with a key that another replica does not publish.
 *
 * There is no timer. The schedule reads the clock each time you use it.
 *
 * @throws ConfigurationError for a schedule that cannot work: a key activated too soon after its announcement (with the
 * earliest allowed time), no key active now, a duplicate key or kid, or no signer for a key that signs now or later.
 * @example
 * ```ts
 * import { createJwksEndpoint, createRotationSchedule, type Signer } from "@signpost/core";
 *
 * declare const current: Signer;
 * declare const next: Signer;
 * const schedule = createRotationSchedule(
 *   [
 *     { signer: current, announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" },
 *     { signer: next, announcedFrom: "2026-07-01T08:00:00Z", activeFrom: "2026-07-01T14:00:00Z" },
 *   ],
 *   { maxTokenLifetimeSeconds: 3600 },
 * );
 * const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: schedule });
 * ```
 */
export function createRotationSchedule(
  entries: readonly ScheduledEntry[],
  options: RotationScheduleOptions,
): RotationSchedule {
  assertOptions("options", options, SCHEDULE_OPTIONS);
  const { now = Date.now } = options;
  const onDrop = readCallback("onDrop", options.onDrop);
  const trailing = readTrailingKeys(options);
  const durations = readDurations(options);
  const keys = planTimeline(readEntries(entries), durations);
  requireAnnouncements(keys, durations);
  requireDistinct(keys, trailing);
  requireUsable(keys, readClock(now));
  requireCertificates(keys, trailing, readClock(now));

  const changes = changesOf(keys);
  const shortCaching = shortCachingOfAll(keys);
  const { keySetAt, withdrawnAt } = createPublisher(keys, trailing);
  const reportDropped = dropReporter(keys, onDrop);
  // Each token asks for it, and a long schedule has thousands of entries.
  const retiringFrom = new Map<string | undefined, number>(
    keys.map((key) => [key.key.published.keyId, key.retiringFrom]),
  );
  let state: State | undefined;

  const current = (): State => {
    const time = readClock(now);
    if (state === undefined || time < state.from || time >= state.until) {
      state = {
        from: changes.findLast((moment) => moment <= time) ?? Number.NEGATIVE_INFINITY,
        until: changes.find((moment) => moment > time) ?? Number.POSITIVE_INFINITY,
        keySet: keySetAt(time),
        withdrawn: withdrawnAt(time),
        rotation: isIn(shortCaching, time),
      };
      reportDropped(time);
    }
    return state;
  };

  current();
  return Object.freeze({
    keySet: () => current().keySet,
    jwksRotationActive: () => current().rotation,
    withdrawn: () => current().withdrawn,
    latestExpiry: (keyId?: string) => {
      const replaced = retiringFrom.get(keyId) ?? Number.POSITIVE_INFINITY;
      const signedUntil = Math.min(readClock(now), replaced);
      return Math.floor((signedUntil + durations.tokenLifetimeMs + durations.skewMs) / 1000);
    },
    nextChange: () => {
      const { until } = current();
      return Number.isFinite(until) ? new Date(until) : null;
    },
  });
}
