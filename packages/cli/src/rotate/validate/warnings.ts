import { duration } from "../../terminal/duration.ts";
import type { Rotation, RotationKey } from "../inspect.ts";
import { instantText } from "../timeline/instants.ts";
import type { Finding } from "./finding.ts";

/** What the checks go by. */
export interface Expectations {
  readonly now: number;
  /** The JSON path of the entries, and that of the schedule's options. */
  readonly entriesPath: string;
  readonly optionsPath: string;
  /** How long the most patient relying party keeps a set. Default: as long as the headers allow. */
  readonly longestCacheMs?: number | undefined;
  /** The longest lifetime that a token really has. Default: `maxTokenLifetimeSeconds`. */
  readonly longestTokenMs?: number | undefined;
  /** Another key must begin to sign within this time. Default: no such rule. */
  readonly nextWithinMs?: number | undefined;
}

/** What a schedule does not refuse, and relying parties may notice. */
export function warningsFor(rotation: Rotation, expected: Expectations): readonly Finding[] {
  return [
    ...lateAnnouncements(rotation, expected),
    ...emergenciesAhead(rotation, expected),
    ...earlyWithdrawals(rotation, expected),
    ...nextKey(rotation, expected),
  ];
}

/** How long a set without a new key may be in use. */
export function neededLeadMs(rotation: Rotation, { longestCacheMs }: Expectations): number {
  return Math.max(rotation.leadMs, longestCacheMs ?? 0);
}

function lateAnnouncements(rotation: Rotation, expected: Expectations): readonly Finding[] {
  const lead = neededLeadMs(rotation, expected);
  return rotation.keys.flatMap((key, index) => {
    // Before the first key there was no set that anything could keep, unless it took the place of another in an emergency.
    if (index === 0 && key.announcedFrom <= key.activeFrom) return [];
    const known = key.announcedFrom + lead;
    if (key.activeFrom >= known || known <= expected.now) return [];
    return [lateFinding(key, key.announcedFrom, known, expected)];
  });
}

export function lateFinding(key: RotationKey, announced: number, known: number, expected: Expectations): Finding {
  return {
    level: "warning",
    rule: "announced-late",
    path: `${expected.entriesPath}[${key.index}].activeFrom`,
    text:
      `${key.label} signs from ${instantText(key.activeFrom)}, and is published from ${instantText(announced)}. ` +
      `Relying parties may keep a set without it until ${instantText(known)}`,
    todo:
      key.activeFrom > expected.now
        ? `Let it sign from ${instantText(known)} or later`
        : "Nothing, if this was an emergency. A relying party that refetches for an unknown kid refuses its tokens for minutes at most",
  };
}

function emergenciesAhead({ keys }: Rotation, { now, entriesPath }: Expectations): readonly Finding[] {
  return keys.flatMap(({ emergencyAt, index, label }) =>
    emergencyAt === undefined || emergencyAt <= now
      ? []
      : [
          {
            level: "warning",
            rule: "emergency-ahead",
            path: `${entriesPath}[${index}].emergencyAt`,
            text: `The emergency of ${label} is in the future, and the announcement rule does not apply to the key`,
            todo: "Remove emergencyAt, unless signpost rotate emergency wrote it and this clock is slow",
          },
        ],
  );
}

function earlyWithdrawals(rotation: Rotation, expected: Expectations): readonly Finding[] {
  const { now, longestTokenMs = 0, optionsPath } = expected;
  const [key] = rotation.keys.filter(({ withdrawnFrom }) => withdrawnFrom > now && Number.isFinite(withdrawnFrom));
  const lasting = rotation.keys.at(-1);
  if (lasting === undefined || longestTokenMs <= rotation.tokenMs) return [];
  const what =
    key === undefined
      ? `A key is withdrawn ${duration(rotation.retiringMs / 1000)} after it stopped signing`
      : `${key.label} is withdrawn at ${instantText(key.withdrawnFrom)}`;
  return [
    {
      level: "warning",
      rule: "withdrawn-early",
      path: `${optionsPath}maxTokenLifetimeSeconds`,
      text: `${what}, ${duration((longestTokenMs - rotation.tokenMs) / 1000)} before its last token has expired`,
      todo: `Set maxTokenLifetimeSeconds to ${longestTokenMs / 1000}`,
    },
  ];
}

function nextKey({ keys }: Rotation, { now, nextWithinMs, entriesPath }: Expectations): readonly Finding[] {
  const next = keys.find(({ activeFrom }) => activeFrom > now);
  const last = keys.at(-1);
  if (last === undefined) return [];
  const planned =
    next === undefined
      ? `All keys are in the past: ${last.label} signs since ${instantText(last.activeFrom)}, and no next key is planned`
      : `The next key, ${next.label}, signs from ${instantText(next.activeFrom)}`;
  const todo = "signpost keygen makes a key, and signpost rotate announce adds it";
  if (nextWithinMs !== undefined && (next === undefined || next.activeFrom > now + nextWithinMs)) {
    const text = `${planned}. One was expected within ${duration(nextWithinMs / 1000)}`;
    return [{ level: "warning", rule: "next-key", path: entriesPath, text, todo }];
  }
  return next === undefined ? [{ level: "note", rule: "next-key", path: entriesPath, text: planned, todo }] : [];
}
