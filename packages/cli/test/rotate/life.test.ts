import fc from "fast-check";
import { createRotationSchedule, type ScheduledEntry, type Signer } from "@signpost/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { standIn } from "../../src/config/config-keys.ts";
import { announcedEntry } from "../../src/rotate/announce/entry.ts";
import { inspectRotation, scheduleOptions, withSigner } from "../../src/rotate/inspect.ts";
import { frozenAt } from "../support/frozen-clock.ts";
import type { KeyFolder } from "../support/key-folder.ts";
import { runCli, type CliResult } from "../support/run-cli.ts";
import { ENTRIES, configText, rotationFolder } from "./support.ts";

let folder: KeyFolder;

beforeAll(async () => {
  folder = await rotationFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

function at(instant: string, ...args: readonly string[]): Promise<CliResult> {
  return runCli(args, { cwd: folder.path, env: frozenAt(instant), stdin: '{"sub":"test"}' });
}

/** What the written configuration publishes, and the kid of a token that it signs. */
async function usedAt(instant: string): Promise<object> {
  const [jwks, token] = await Promise.all([at(instant, "jwks", "--json"), at(instant, "sign", "--json")]);
  const { keys, cacheControl } = JSON.parse(jwks.stdout);
  return {
    keys: keys.map(({ kid, role }: Record<string, string>) => `${kid} ${role}`),
    maxAge: /max-age=(\d+)/.exec(cacheControl)?.[1],
    signs: JSON.parse(token.stdout).header.kid,
  };
}

test("an announced key is published, later it signs, and after an emergency it is gone", async () => {
  await folder.write("signpost.config.json", configText(ENTRIES.slice(0, 1)));
  const added = ["rotate", "announce", "--signer", "local:b.pem", "--key-id", "next", "--yes"];
  expect(await at("2026-07-01T09:00:00Z", ...added)).toMatchObject({ code: 0 });
  const states = await Promise.all(
    ["09:59:59", "10:00:00", "14:01:00", "15:03:00"].map((time) => usedAt(`2026-07-01T${time}Z`)),
  );
  expect(states).toEqual([
    { keys: ["sig-2026-01 active"], maxAge: "3600", signs: "sig-2026-01" },
    { keys: ["sig-2026-01 active", "next announced"], maxAge: "300", signs: "sig-2026-01" },
    { keys: ["next active", "sig-2026-01 retiring"], maxAge: "300", signs: "next" },
    { keys: ["next active"], maxAge: "300", signs: "next" },
  ]);
  const gone = ["rotate", "emergency", "next", "--signer", "local:c.pem", "--key-id", "spare", "--yes"];
  expect(await at("2026-07-20T00:00:00Z", ...gone)).toMatchObject({ code: 0 });
  expect(await usedAt("2026-07-20T00:00:01Z")).toEqual({ keys: ["spare active"], maxAge: "300", signs: "spare" });
  expect(await at("2026-07-20T00:00:01Z", "rotate", "validate")).toMatchObject({ code: 1 });
  expect(await at("2026-07-21T00:00:01Z", "rotate", "validate")).toMatchObject({ code: 0 });
});

const HOUR = 3_600_000;
const START = Date.parse("2026-01-01T00:00:00Z");
/** Made once, since making keys takes most of the time. */
const SIGNERS: readonly Signer[] = Array.from({ length: 6 }, standIn);

/** Schedules that `createRotationSchedule` accepts at some time: keys in a chain, some of them in the future. */
const schedules = fc
  .record({
    gaps: fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 5 }),
    leads: fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 5, maxLength: 5 }),
    signing: fc.nat(4),
    later: fc.nat(3_599_999),
    clockSkewSeconds: fc.constantFrom(undefined, 0, 37, 3600),
    hours: fc.constantFrom({}, { announceHours: 4.5 }, { announceHours: 2, sharedCaches: false }),
  })
  .map(({ gaps, leads, signing, later, clockSkewSeconds, hours }) => {
    const lead = (hours.announceHours ?? 4) * HOUR + 1000 * (clockSkewSeconds ?? 60);
    let active = START;
    const entries = gaps.map((gap, index) => {
      active += gap * HOUR;
      const announced = active - lead - (leads[index] ?? 0) * HOUR;
      const dates = { announcedFrom: new Date(announced).toISOString(), activeFrom: new Date(active).toISOString() };
      return { keyId: `key-${index}`, signer: `local:${index}`, ...dates };
    });
    const activeFrom = entries[signing % entries.length]?.activeFrom ?? "";
    const schedule = { entries, maxTokenLifetimeSeconds: 3600, clockSkewSeconds, ...hours };
    return { schedule, now: Date.parse(activeFrom) + later };
  });

test("announce never makes a schedule that createRotationSchedule refuses, now or when the key begins to sign", () => {
  fc.assert(
    fc.property(schedules, ({ schedule, now }) => {
      const signerOf = (index: number): Signer | undefined => SIGNERS[index];
      const before = inspectRotation(schedule, { path: "keys", now, signerOf });
      expect(before.mistakes).toEqual([]);
      const entry = announcedEntry({ keyId: "new", signer: "local:new" }, before, now);
      const entries = [...schedule.entries, entry].map((each, index): ScheduledEntry =>
        withSigner(each, () => SIGNERS[index] ?? standIn()),
      );
      const options = scheduleOptions(schedule);
      const activeFrom = Date.parse(String(entry.activeFrom));
      const kids = [now, Date.parse(String(entry.announcedFrom)), activeFrom].map((time) => {
        const { active, find } = pick(createRotationSchedule(entries, { ...options, now: () => time }).keySet());
        return `${find("new") === undefined ? "hidden" : "published"} ${active === "new" ? "signs" : "waits"}`;
      });
      expect(kids).toEqual(["hidden waits", "published waits", "published signs"]);
    }),
    { numRuns: 150 },
  );
});

function pick(set: ReturnType<ReturnType<typeof createRotationSchedule>["keySet"]>): {
  readonly active: string;
  readonly find: (kid: string) => unknown;
} {
  return { active: set.active.keyId, find: (kid) => set.find(kid) };
}
