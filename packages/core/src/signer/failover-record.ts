import type { SignerErrorCode } from "../errors.ts";
import type { Signer } from "./contract.ts";
import { type BackendStatus, worstStatus } from "./health.ts";
import { insideOf } from "./inside.ts";

/** What a failover tells the guard around it: which place is used, and why not the first. */
export interface FailoverRecord {
  /** The place with this index was left because of an error with this code. */
  readonly left: (index: number, code: SignerErrorCode) => void;
  /** The first place signs again. */
  readonly returned: () => void;
  readonly status: (current: number) => BackendStatus;
  readonly notes: (current: number) => readonly string[];
}

interface Departure {
  readonly at: Date;
  readonly code: SignerErrorCode;
}

export function createFailoverRecord(places: readonly Signer[]): FailoverRecord {
  /** Why each place was left when it was used last, from the first that was left to the last. */
  const departures = new Map<number, Departure>();

  const lastOne = (): Departure | undefined => [...departures.values()].at(-1);
  const uriOf = (index: number): string => places[index]?.uri ?? "";
  /** Not used since. The next outage of the first place would show whether it fails still. */
  const failedLast = (): string =>
    [...departures]
      .filter(([index]) => index !== 0)
      .map(
        ([index, { at, code }]) => `; ${uriOf(index)} failed when it was used last, at ${at.toISOString()} (${code})`,
      )
      .join("");
  const signsAt = (current: number): string => {
    const last = lastOne();
    if (current === 0 || last === undefined) {
      return `signs at ${uriOf(current)}, the first of ${places.length} places${failedLast()}`;
    }
    const failed = [...departures].map(([index, { code }]) => `${uriOf(index)} failed (${code})`).join(", ");
    return `the standby ${uriOf(current)} signs since ${last.at.toISOString()}: ${failed}`;
  };

  return {
    left: (index, code) => {
      // Around the circle: what was known of a place is old.
      departures.delete((index + 1) % places.length);
      departures.delete(index);
      departures.set(index, { at: new Date(), code });
    },
    returned: () => void departures.delete(0),
    status: (current) => {
      const last = lastOne();
      const own: BackendStatus =
        current === 0 || last === undefined
          ? { status: "ready" }
          : { status: "degraded", since: last.at, lastCode: last.code };
      const place = places[current];
      const inside = place === undefined ? undefined : insideOf(place);
      return inside === undefined ? own : worstStatus(own, inside.status());
    },
    notes: (current) => [
      signsAt(current),
      ...places.flatMap((place) => (insideOf(place)?.notes() ?? []).map((note) => `${place.uri}: ${note}`)),
    ],
  };
}
