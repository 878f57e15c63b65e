import { describe, expect, test } from "vitest";
import { jwkThumbprint } from "@signpost/core";
import { standIn } from "../../src/config/config-keys.ts";
import { CliError } from "../../src/program/cli-error.ts";
import { announcedEntry, requireAhead } from "../../src/rotate/announce/entry.ts";
import { asSchedule } from "../../src/rotate/change/as-schedule.ts";
import { findKey } from "../../src/rotate/emergency/find-key.ts";
import { withdraw, type Replacement } from "../../src/rotate/emergency/withdraw.ts";

// The entries that the commands of a rotation write.

const NOW = Date.parse("2026-07-01T09:00:30.500Z");
const HOUR = 3_600_000;
const at = (hours: number): string => new Date(Date.parse("2026-07-01T09:00:00Z") + hours * HOUR).toISOString();

describe("a new key is announced", () => {
  const LEAD = 4 * HOUR + 60_000;
  const entry = (more: object = {}, taken: readonly string[] = []) => {
    const keys = taken.map((time) => ({ activeFrom: Date.parse(time) })) as never;
    const { announcedFrom, activeFrom } = announcedEntry(
      { keyId: "b", signer: "local:b.pem", ...more },
      { keys, leadMs: LEAD },
      NOW,
    );
    return [announcedFrom, activeFrom];
  };

  test("in an hour, and signs as early as caches allow", () => {
    expect(announcedEntry({ keyId: "b", signer: "local:b.pem" }, { keys: [], leadMs: LEAD }, NOW)).toEqual({
      keyId: "b",
      signer: "local:b.pem",
      announcedFrom: "2026-07-01T10:01:00Z",
      activeFrom: "2026-07-01T14:02:00Z",
    });
  });

  test.each<[what: string, more: object, taken: readonly string[], dates: readonly string[]]>([
    [
      "at the next free minute",
      {},
      ["2026-07-01T14:02:00Z", "2026-07-01T14:03:00Z", "2026-07-01T14:05:00Z"],
      ["2026-07-01T10:01:00Z", "2026-07-01T14:04:00Z"],
    ],
    [
      "a day before it signs",
      { activeFrom: Date.parse("2026-07-10T00:00:00Z") },
      [],
      ["2026-07-09T00:00:00Z", "2026-07-10T00:00:00Z"],
    ],
    [
      "in an hour if it signs within a day",
      { activeFrom: Date.parse("2026-07-02T00:00:00Z") },
      ["2026-07-02T00:00:00Z"],
      ["2026-07-01T10:01:00Z", "2026-07-02T00:00:00Z"],
    ],
    [
      "when it is told",
      { announcedFrom: Date.parse("2026-07-01T12:00:30Z") },
      [],
      ["2026-07-01T12:00:30Z", "2026-07-01T16:02:00Z"],
    ],
    [
      "as both are told",
      { announcedFrom: NOW, activeFrom: NOW + HOUR },
      [],
      ["2026-07-01T09:00:30.500Z", "2026-07-01T10:00:30.500Z"],
    ],
  ])("%s", (_what, more, taken, dates) => {
    expect(entry(more, taken)).toEqual(dates);
  });

  test("a lead of more than a day goes before the day", () => {
    const leadMs = 48 * HOUR;
    const activeFrom = Date.parse("2026-07-10T00:00:00Z");
    expect(announcedEntry({ keyId: "b", signer: "s", activeFrom }, { keys: [], leadMs }, NOW)).toMatchObject({
      announcedFrom: "2026-07-08T00:00:00Z",
    });
  });

  test("and not in the past", () => {
    expect(() => requireAhead(NOW, NOW)).not.toThrow();
    expect(() => requireAhead(NOW - 1, NOW)).toThrow(
      expect.objectContaining({
        exitCode: 2,
        code: "announced_past",
        message: "--announced-from: 2026-07-01T09:00:30.499Z is over",
        hint: "A key is announced after all replicas have the file. It is 2026-07-01T09:00:30Z now",
      }),
    );
    expect(() => entry({ announcedFrom: NOW - 1 })).toThrow("is over");
  });
});

describe("a list as a schedule", () => {
  const keys = ["a", "b", "c"].map((keyId) => ({ keyId, signer: `local:${keyId}.pem` }));

  test("of one key signs since a clock skew ago", () => {
    expect(asSchedule(keys.slice(0, 1), 600, NOW)).toEqual({
      maxTokenLifetimeSeconds: 600,
      entries: [
        {
          keyId: "a",
          signer: "local:a.pem",
          announcedFrom: "2026-07-01T08:59:30Z",
          activeFrom: "2026-07-01T08:59:30Z",
        },
      ],
    });
  });

  test("of several has retired the others just now", () => {
    const dates = asSchedule(keys, 600, NOW).entries.map(({ announcedFrom, activeFrom }) => [
      announcedFrom,
      activeFrom,
    ]);
    const announced = "2026-07-01T04:58:27Z";
    expect(dates).toEqual([
      [announced, "2026-07-01T08:59:30Z"],
      [announced, "2026-07-01T08:59:29Z"],
      [announced, "2026-07-01T08:59:28Z"],
    ]);
  });
});

describe("a key is withdrawn", () => {
  const key = (keyId: string | undefined, announced: number, active: number, more: object = {}) => ({
    ...(keyId === undefined ? {} : { keyId }),
    signer: `local:${keyId ?? "x"}.pem`,
    announcedFrom: at(announced),
    activeFrom: at(active),
    ...more,
  });
  const schedule = (...entries: readonly object[]) => ({ maxTokenLifetimeSeconds: 3600, entries }) as never;
  const OLD = key("old", -9000, -9000);
  const NOW_SIGNS = key("now", -100, -50);
  const NEXT = key("next", -1, 20);
  const LATER = key("later", 30, 60);
  const replacement = (): Replacement => {
    const signer = standIn();
    return {
      entry: { keyId: "fresh", signer: "local:fresh.pem" },
      opened: { keyId: "fresh", signer },
      others: [],
    };
  };

  test.each<[what: string, entries: readonly object[], index: number, isReplaced: boolean]>([
    ["that signs, and is replaced", [OLD, NOW_SIGNS, NEXT], 1, true],
    ["that signs, and the next one takes over", [OLD, NOW_SIGNS, NEXT], 1, false],
    ["that signs, and one that is not announced takes over", [OLD, NOW_SIGNS, LATER], 1, false],
    ["that has signed", [OLD, NOW_SIGNS, NEXT], 0, false],
    ["that is announced", [OLD, NOW_SIGNS, NEXT], 2, false],
    ["of a schedule with a key without a kid", [OLD, key(undefined, -100, -50), NEXT], 0, false],
  ])("%s", (_what, entries, index, isReplaced) => {
    const keyId = (entries[index] as { readonly keyId: string }).keyId;
    const when = Date.parse(at(0));
    const withdrawal = withdraw(schedule(...entries), { index, keyId }, when, isReplaced ? replacement() : undefined);
    expect(withdrawal).toMatchSnapshot();
  });
});

describe("the key with a kid is found", () => {
  const signer = standIn();
  const thumbprint = jwkThumbprint(signer.publicKey);
  const publicKey = standIn().publicKey;
  const entries = [
    { keyId: "a", signer: "local:a.pem" },
    { publicKey },
    { signer: "local:away.pem" },
    { signer: "local:b.pem" },
  ];
  const opened: string[] = [];
  const keys = {
    open: async (_place: string, uri: string) => {
      opened.push(uri);
      if (uri.includes("away")) throw new CliError(3, "unavailable", "away");
      if (uri.includes("broken")) throw new TypeError("a mistake");
      return signer;
    },
  } as never;
  const find = (kid: string, list: readonly object[] = entries) => {
    opened.length = 0;
    return findKey({ schedule: { entries: list } } as never, kid, keys);
  };

  test("by its name, without opening one", async () => {
    expect(await find("a")).toBe(0);
    expect(opened).toEqual([]);
  });

  test("by the thumbprint of its public key, or of the key that its URI opens", async () => {
    expect(await find(jwkThumbprint(publicKey))).toBe(1);
    expect(opened).toEqual([]);
    expect(await find(thumbprint)).toBe(3);
    expect(opened).toEqual(["local:away.pem", "local:b.pem"]);
  });

  test("or not, and what could not be opened is told", async () => {
    await expect(find("other\u202e")).rejects.toMatchObject({
      exitCode: 2,
      code: "unknown_kid",
      message: 'No entry has the kid "other\\u202e"',
      hint: expect.stringMatching(
        /^The keys are a, .*, .*\. These could not be opened to see theirs: local:away\.pem$/,
      ) as string,
    });
    await expect(find("other", entries.slice(0, 1))).rejects.toMatchObject({ hint: "The keys are a" });
    await expect(find("x", [{ signer: "local:broken.pem" }])).rejects.toThrow(TypeError);
  });
});
