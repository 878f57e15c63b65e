import type { KeySet, KeySetEntry, PublishedKey } from "../keyset/types.ts";

/** A signing key with its place in time. Moments are a Date, or an RFC 3339 date and time with `Z` or an offset. */
export type ScheduledEntry = KeySetEntry & {
  /** Published from this moment on, behind the others, and not signing. */
  readonly announcedFrom: Date | string;
  /** Signs from this moment on, until the next entry's `activeFrom`. */
  readonly activeFrom: Date | string;
  /** Set by `emergencyRotation`: when it happened. The announcement rule does not hold for this entry. */
  readonly emergencyAt?: Date | string | undefined;
};

/** When the set and the cache mode change, as a pure function of the entries and the clock. */
export interface RotationSchedule {
  /** The set that holds now. The same object until something changed. */
  readonly keySet: () => KeySet;
  /** For the endpoint's `jwksRotationActive`: from each announcement until `rotationWindowHours` after the activation. */
  readonly jwksRotationActive: () => boolean;
  /** Keys that are published no more and only serve to accept an expired `id_token_hint`. The same array until something changed. */
  readonly withdrawn: () => readonly PublishedKey[];
  /** The next moment at which any of the above changes, or null. */
  readonly nextChange: () => Date | null;
}
