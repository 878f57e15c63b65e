import type { SignerErrorCode } from "../errors.ts";
import type { Signer } from "./contract.ts";
import { type BackendStatus, worstStatus } from "./health.ts";
import { insideOf } from "./inside.ts";

/** What a failover reports to its guard: which place is used, and why it is not the first. */
export interface FailoverRecord {
  /** The failover moved away from the place with this index, because of an error with this code. */
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

/**
 * A name for each place: its key URI. If several places have the same one, as a key of Vault in two clusters does, the number
 * of the place tells them apart.
 */
export function placeNames(places: readonly Signer[]): readonly string[] {
  const isShared = ({ uri }: Signer): boolean => places.filter((place) => place.uri === uri).length > 1;
  return places.map((place, index) => (isShared(place) ? `${place.uri} (place ${index + 1})` : place.uri));
}

export function createFailoverRecord(places: readonly Signer[]): FailoverRecord {
  const names = placeNames(places);
  /** Why each place was left after its last use, in the order in which they were left. */
  const departures = new Map<number, Departure>();

  const lastOne = (): Departure | undefined => [...departures.values()].at(-1);
  const uriOf = (index: number): string => names[index] ?? "";
  /** Standbys that failed and were not used since. They may still fail when the first place has its next outage. */
  const failedLast = (): string =>
    [...departures]
      .filter(([index]) => index !== 0)
      .map(([index, { at, code }]) => `; ${uriOf(index)} failed when last used, at ${at.toISOString()} (${code})`)
      .join("");
  const signsAt = (current: number): string => {
    const last = lastOne();
    if (current === 0 || last === undefined) {
      return `signs at ${uriOf(current)}, the first of ${places.length} places${failedLast()}`;
    }
    const failed = [...departures].map(([index, { code }]) => `${uriOf(index)} failed (${code})`).join(", ");
    return `the standby ${uriOf(current)} has signed since ${last.at.toISOString()}: ${failed}`;
  };

  return {
    left: (index, code) => {
      // The next place is tried again, so its old failure no longer counts.
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
      return worstStatus(own, ...places.map((place, index) => statusOf(place, index === current)));
    },
    notes: (current) => [
      signsAt(current),
      ...places.flatMap((place, index) => (insideOf(place)?.notes() ?? []).map((note) => `${uriOf(index)}: ${note}`)),
    ],
  };
}

/** What the adapter of a place says. One that is not used costs no signature, but the next failure may be an outage. */
function statusOf(place: Signer, used: boolean): BackendStatus {
  const seen = insideOf(place)?.status() ?? { status: "ready" };
  return used || seen.status === "ready" ? seen : { status: "degraded" };
}
