import type { KeySetEntry } from "../keyset/types.ts";

/** A signing key with its place in time. Moments are a Date, or an RFC 3339 date and time with `Z` or an offset. */
export type ScheduledEntry = KeySetEntry & {
  /** Published from this moment on, behind the others, and not signing. */
  readonly announcedFrom: Date | string;
  /** Signs from this moment on, until the next entry's `activeFrom`. */
  readonly activeFrom: Date | string;
  /** Set by `emergencyRotation`: when it happened. The announcement rule does not hold for this entry. */
  readonly emergencyAt?: Date | string | undefined;
};
