import type { KeySetEntry } from "../keyset/types.ts";

/** A signing key with its dates. Each is a Date, or an RFC 3339 date and time with `Z` or an offset. */
export type ScheduledEntry = KeySetEntry & {
  /** From this time on the key is published, after the others, but does not sign. */
  readonly announcedFrom: Date | string;
  /** From this time on the key signs, until the next entry's `activeFrom`. */
  readonly activeFrom: Date | string;
  /** Set by `emergencyRotation`: when the emergency happened. The announcement rule does not apply to this entry. */
  readonly emergencyAt?: Date | string | undefined;
};
