import type { ScheduledConfigEntry } from "../../config/config.ts";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import type { Rotation } from "../inspect.ts";
import { instantText } from "../timeline/instants.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Time to roll the file out to every replica. */
const ROLLOUT = 60 * MINUTE;

export interface AnnouncedKey {
  readonly keyId: string;
  readonly signer: string;
  readonly announcedFrom?: number | undefined;
  readonly activeFrom?: number | undefined;
}

/**
 * The entry of a new key. Unless it was told, it is announced in an hour, and signs as early as caches allow. If it signs later, it
 * is announced a day before: caches keep the set for a short time from the announcement on.
 */
export function announcedEntry(
  { keyId, signer, announcedFrom, activeFrom }: AnnouncedKey,
  { keys, leadMs }: Pick<Rotation, "keys" | "leadMs">,
  now: number,
): ScheduledConfigEntry {
  if (announcedFrom !== undefined) requireAhead(announcedFrom, now);
  const soon = wholeMinute(now + ROLLOUT);
  const announced =
    announcedFrom ?? (activeFrom === undefined ? soon : Math.max(soon, activeFrom - Math.max(leadMs, DAY)));
  const active = activeFrom ?? freeMinute(wholeMinute(announced + leadMs), keys);
  return { keyId, signer, announcedFrom: instantText(announced), activeFrom: instantText(active) };
}

/** No replica has published the key yet, whatever the entry says. */
export function requireAhead(announcedFrom: number, now: number): void {
  if (announcedFrom >= now) return;
  throw new CliError(EXIT.usage, "announced_past", `--announced-from: ${instantText(announcedFrom)} is over`, {
    hint: `A key is announced after all replicas have the file. It is ${instantText(Math.floor(now / 1000) * 1000)} now`,
  });
}

function wholeMinute(time: number): number {
  return Math.ceil(time / MINUTE) * MINUTE;
}

/** Two keys cannot begin to sign at the same time. */
function freeMinute(time: number, keys: Rotation["keys"]): number {
  const taken = new Set(keys.map(({ activeFrom }) => activeFrom));
  let free = time;
  while (taken.has(free)) free += MINUTE;
  return free;
}
