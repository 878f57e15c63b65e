import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type GuardedSigner, SignerError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import type { ConfigScheduledKey } from "../src/config/config.ts";
import { createLiveKeys, type LiveKeys } from "../src/keys/live-keys.ts";
import { ISSUER } from "./support/claims.ts";

// A key that cannot be opened when it should begin to sign.

const HOUR_MS = 3_600_000;
const START = Date.parse("2026-03-01T08:00:00Z");
const LIFETIME_HOURS = 24;
/** When the key is due, when it is there, and when one after it would sign. In hours. */
const DUE = 3;
const LATE = 12;
const NEXT = 8;
/** Longer than clocks may differ. */
const MARGIN = 0.1;

let time: number;
let away: boolean;
let keys: LiveKeys;
const ending = new AbortController();
const signers: Readonly<Record<string, GuardedSigner>> = {
  "local:old": await openLocalSigner(),
  "local:new": await openLocalSigner(),
  "local:next": await openLocalSigner(),
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  time = START;
  away = true;
  keys = createLiveKeys({
    now: () => time,
    signal: ending.signal,
    events: { onOpened: () => undefined, onUnopened: () => undefined, onUnclosed: () => undefined },
    open: async (uri) => {
      const signer = signers[uri];
      if (signer === undefined || (away && uri === "local:new")) throw new SignerError("unavailable", "away");
      return { ...signer, close: () => Promise.resolve() };
    },
  });
});
afterEach(async () => {
  await keys.close();
  vi.useRealTimers();
});

const at = (hours: number): string => new Date(START + hours * HOUR_MS).toISOString();

function entry(name: string, announced: number, active: number): ConfigScheduledKey {
  return { keyId: name, signer: `local:${name}`, announcedFrom: at(announced), activeFrom: at(active) };
}

const OLD = entry("old", -48, -48);
const NEW = entry("new", -1, DUE);

async function load(...entries: readonly ConfigScheduledKey[]): Promise<void> {
  await loadChecked(() => undefined, ...entries);
}

async function loadChecked(check: () => void, ...entries: readonly ConfigScheduledKey[]): Promise<void> {
  const config = { issuer: ISSUER, socket: { systemd: true }, maxTokenLifetimeSeconds: LIFETIME_HOURS * 3600 } as const;
  const schedule = { entries, announceHours: 2, sharedCaches: false };
  await keys.load({ config, schedule, legacyKeys: [], audit: undefined }, check);
}

/** The published keys at a time, the one that signs first. Long enough for each pause between two tries. */
async function published(hours: number): Promise<readonly string[]> {
  time = START + hours * HOUR_MS;
  await vi.advanceTimersByTimeAsync(60_000);
  return keys.schedule.keySet().keys.map(({ keyId }) => keyId);
}

async function openLate(...entries: readonly ConfigScheduledKey[]): Promise<void> {
  await load(...entries);
  expect(await published(DUE + 1)).not.toContain("new");
  await published(NEXT + 1);
  away = false;
  expect(await published(LATE)).toContain("new");
}

test("the key before it signs until it is there", async () => {
  await load(OLD, NEW);
  expect(await published(LATE - 1)).toEqual(["old"]);
  away = false;
  expect(await published(LATE)).toEqual(["new", "old"]);
});

test("a configuration that is loaded while it is due and away is refused, and the key before it goes on", async () => {
  await load(OLD, NEW);
  expect(await published(DUE + 1)).toEqual(["old"]);
  await expect(load(OLD, NEW)).rejects.toMatchObject({ code: "unavailable" });
  expect(await published(DUE + 1)).toEqual(["old"]);
});

test("a configuration that is refused leaves its kids free for other keys", async () => {
  away = false;
  await load(OLD);
  const refuse = (): void => {
    throw new TypeError("refused");
  };
  await expect(loadChecked(refuse, OLD, entry("next", -10, -5))).rejects.toThrow("refused");
  await load(OLD, { ...entry("new", -10, -5), keyId: "next" });
  expect(await published(0)).toEqual(["next", "old"]);
});

describe("the key before it stays published for the tokens that it signed meanwhile", () => {
  test("as long as a token lives", async () => {
    await openLate(OLD, NEW);
    expect(await published(LATE + LIFETIME_HOURS)).toEqual(["new", "old"]);
    expect(await published(LATE + LIFETIME_HOURS + MARGIN)).toEqual(["new"]);
  });

  test("also when the configuration is loaded again", async () => {
    await openLate(OLD, NEW);
    await published(DUE + LIFETIME_HOURS + MARGIN);
    await load(OLD, NEW);
    expect(await published(LATE + LIFETIME_HOURS)).toEqual(["new", "old"]);
    expect(await published(LATE + LIFETIME_HOURS + MARGIN)).toEqual(["new"]);
  });

  test("also when it is a configuration that is loaded again that opens the late key", async () => {
    await load(OLD, NEW);
    expect(await published(LATE - 1)).toEqual(["old"]);
    away = false;
    time = START + LATE * HOUR_MS;
    await load(OLD, NEW);
    expect(await published(LATE + LIFETIME_HOURS)).toEqual(["new", "old"]);
    expect(await published(LATE + LIFETIME_HOURS + MARGIN)).toEqual(["new"]);
  });

  test("also when such a configuration is refused before, for another reason", async () => {
    await load(OLD, NEW);
    expect(await published(DUE + 1)).toEqual(["old"]);
    away = false;
    const refuse = (): void => {
      throw new TypeError("refused");
    };
    await expect(loadChecked(refuse, OLD, NEW)).rejects.toThrow("refused");
    expect(keys.schedule.keySet().keys.map(({ keyId }) => keyId)).toEqual(["old"]);
    expect(await published(LATE)).toEqual(["new", "old"]);
    expect(await published(LATE + LIFETIME_HOURS)).toEqual(["new", "old"]);
  });

  test("also when the key after it signs already", async () => {
    await openLate(OLD, NEW, entry("next", 0, NEXT));
    expect(await published(NEXT + LIFETIME_HOURS)).toEqual(["next", "new", "old"]);
    expect(await published(NEXT + LIFETIME_HOURS + MARGIN)).toEqual(["next"]);
  });
});

test("a date that is moved on afterwards counts", async () => {
  await openLate(OLD, NEW);
  await load(OLD, entry("new", -1, LATE + 4));
  expect(await published(LATE + 1)).toEqual(["old", "new"]);
  expect(await published(LATE + 4)).toEqual(["new", "old"]);
});
