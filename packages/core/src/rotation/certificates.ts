import { requireValid } from "../certificate/validity.ts";
import { certificateCharacters, requireRoom } from "../keyset/certificates.ts";
import type { PublishedKey } from "../keyset/types.ts";
import type { PlannedKey } from "./timeline.ts";

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
  // By how many characters the document changes, and when. So each key is counted twice, and not once for each document.
  const changes = new Map<number, number>();
  const change = (moment: number, characters: number): void =>
    void changes.set(moment, (changes.get(moment) ?? 0) + characters);
  for (const { key, announcedFrom, activeFrom, withdrawnFrom } of certified) {
    const characters = certificateCharacters([key.published]);
    change(Math.max(time, Math.min(announcedFrom, activeFrom)), characters);
    change(withdrawnFrom, -characters);
  }
  let characters = certificateCharacters(trailing);
  for (const [, difference] of [...changes].toSorted(([a], [b]) => a - b)) {
    characters += difference;
    requireRoom("entries", characters);
  }
}
