import { phaseAt } from "@signpost/core/adapter";
import { type Rotation, type RotationKey } from "../inspect.ts";
import { instantText } from "../timeline/instants.ts";
import type { Finding } from "./finding.ts";
import { lateFinding, neededLeadMs, type Expectations } from "./warnings.ts";

/** A schedule, and what its entries name as signers, by index. */
export interface ComparedRotation {
  readonly rotation: Rotation;
  readonly signerOf: (key: RotationKey) => string | undefined;
}

/** What the change from the schedule in use to the next one breaks, if it is rolled out now. */
export function changesFrom(
  before: ComparedRotation,
  after: ComparedRotation,
  expected: Expectations,
): readonly Finding[] {
  const was = new Map(before.rotation.keys.map((key) => [key.label, key]));
  const is = new Map(after.rotation.keys.map((key) => [key.label, key]));
  const removed = before.rotation.keys.flatMap((key) =>
    is.has(key.label) ? [] : removedFinding(key, before.rotation, expected),
  );
  const kept = after.rotation.keys.flatMap((key) => {
    const old = was.get(key.label);
    if (old === undefined) return laterThanShown(key, undefined, after.rotation, expected);
    return [
      ...laterThanShown(key, old, after.rotation, expected),
      ...hiddenAgain(key, old, expected),
      ...withdrawnEarly(key, old, before.rotation, expected),
      ...anotherSigner(key, [before.signerOf(old), after.signerOf(key)], expected),
    ];
  });
  return [...removed, ...kept];
}

/** The last time at which a key of the schedule in use signs, if it ever did. */
function lastSignature(key: RotationKey, now: number): number | undefined {
  return key.activeFrom > now ? undefined : Math.min(key.retiringFrom, now);
}

function removedFinding(key: RotationKey, rotation: Rotation, { now, entriesPath }: Expectations): readonly Finding[] {
  const phase = phaseAt(key, now);
  const last = lastSignature(key, now);
  const todo = "Keep the entry until the schedule no longer needs it, unless this is an emergency";
  if (phase === "withdrawn") {
    const text = `${key.label} is removed. Until ${instantText(key.droppedFrom)} it still verifies an id_token_hint`;
    return [{ level: "note", rule: "removed", path: entriesPath, text, todo }];
  }
  if (last === undefined || phase === "dropped") return [];
  const text = `${key.label} is removed, and its tokens are valid until ${instantText(last + rotation.retiringMs)}`;
  return [{ level: "warning", rule: "removed", path: entriesPath, text, todo }];
}

/**
 * A key was not announced before the schedule in use publishes it, whatever the entry says. Nothing publishes a key any longer that
 * was withdrawn, and comes back.
 */
function laterThanShown(
  key: RotationKey,
  old: RotationKey | undefined,
  rotation: Rotation,
  expected: Expectations,
): readonly Finding[] {
  const isPublished = old !== undefined && isShown(old, expected.now);
  // A key that signs is published, also before its announcement.
  const claimed = isPublished ? key.announcedFrom : Math.min(key.announcedFrom, key.activeFrom);
  const since = isPublished ? old.announcedFrom : Math.max(claimed, expected.now);
  // What the entry itself says is judged without the older file. A key that has signed before needs no announcement.
  if (claimed >= since || key.retiringFrom <= expected.now) return [];
  const known = since + neededLeadMs(rotation, expected);
  return key.activeFrom >= known || known <= expected.now ? [] : [lateFinding(key, since, known, expected)];
}

function isShown({ announcedFrom, withdrawnFrom }: RotationKey, now: number): boolean {
  return announcedFrom <= now && now < withdrawnFrom;
}

function hiddenAgain(key: RotationKey, old: RotationKey, { now, entriesPath }: Expectations): readonly Finding[] {
  if (!isShown(old, now) || phaseAt(key, now) !== "unpublished") return [];
  return [
    {
      level: "warning",
      rule: "gap",
      path: `${entriesPath}[${key.index}].announcedFrom`,
      text: `${key.label} is published now, and would not be until ${instantText(Math.min(key.announcedFrom, key.activeFrom))}`,
      todo: `Leave announcedFrom at ${instantText(old.announcedFrom)}`,
    },
  ];
}

function withdrawnEarly(
  key: RotationKey,
  old: RotationKey,
  before: Rotation,
  { now, entriesPath }: Expectations,
): readonly Finding[] {
  const last = lastSignature(old, now);
  if (last === undefined) return [];
  const alive = last + before.retiringMs;
  if (alive <= now || key.withdrawnFrom >= alive) return [];
  return [
    {
      level: "warning",
      rule: "withdrawn-early",
      path: `${entriesPath}[${key.index}]`,
      text: `${key.label} is withdrawn at ${instantText(key.withdrawnFrom)}, and its tokens are valid until ${instantText(alive)}`,
      todo: "Leave maxTokenLifetimeSeconds and the dates of keys that have signed as they are",
    },
  ];
}

function anotherSigner(
  key: RotationKey,
  [old, next]: readonly [string | undefined, string | undefined],
  { entriesPath }: Expectations,
): readonly Finding[] {
  if (old === undefined || next === undefined || old === next) return [];
  const text = `${key.label} has another signer than before. A kid names one key for good`;
  const todo = "signpost doctor compares the key with the one that is published";
  return [{ level: "note", rule: "signer-changed", path: `${entriesPath}[${key.index}].signer`, text, todo }];
}
