import { requireValid } from "../certificate/validity.ts";
import { requireRoom } from "../keyset/certificates.ts";
import type { PublishedKey } from "../keyset/types.ts";
import { changesOf, type Phase, phaseAt, type PlannedKey } from "./timeline.ts";

const PUBLISHED: readonly Phase[] = ["announced", "active", "retiring"];

/** Checks the certificates of a schedule: each chain is valid, and every document has room for all that it has. */
export function requireCertificates(
  keys: readonly PlannedKey<unknown>[],
  trailing: readonly PublishedKey[],
  time: number,
): void {
  for (const key of keys) requireValidChain(key, time);
  requireRoomForChains(keys, trailing, time);
}

/**
 * Checks that the certificates of a key are valid now, or when the key is announced if that is later. Those of a key that is
 * never published again may have expired.
 */
export function requireValidChain({ argument, key, ...life }: PlannedKey<unknown>, time: number): void {
  if (time >= life.withdrawnFrom) return;
  // In an emergency, a key is active before it is announced.
  const publishedFrom = Math.min(life.announcedFrom, life.activeFrom);
  requireValid({ ...key.published, argument }, Math.max(time, publishedFrom));
}

/** Checks each document from now on. */
export function requireRoomForChains(
  keys: readonly PlannedKey<unknown>[],
  trailing: readonly PublishedKey[],
  time: number,
): void {
  const certified = keys.filter(
    ({ key, withdrawnFrom }) => key.published.certificates !== undefined && withdrawnFrom > time,
  );
  if (certified.length === 0) return;
  for (const moment of [time, ...changesOf(certified).filter((change) => change > time)]) {
    const published = certified.filter((key) => PUBLISHED.includes(phaseAt(key, moment)));
    requireRoom("entries", [...published.map(({ key }) => key.published), ...trailing]);
  }
}
