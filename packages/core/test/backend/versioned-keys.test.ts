import { describe, expect, test } from "vitest";
import { createVersionedKeys, versionDates, type VersionEntry } from "@signpost/core/adapter";

const V1: VersionEntry = { keyVersion: 1, publicKey: { x: "a" } };
const V2: VersionEntry = { keyVersion: 2, publicKey: { x: "b" } };

describe("the versions of a key", () => {
  test("are the same array until a refresh finds a change", async () => {
    let found: readonly VersionEntry[] = [{ ...V1 }];
    const keys = createVersionedKeys(
      [V1],
      async () => found,
      async () => {},
    );
    const { versions } = keys;
    expect(await keys.refresh()).toBe(false);
    expect(keys.versions).toBe(versions);
    found = [V1, V2];
    expect(await keys.refresh()).toBe(true);
    expect(keys.versions).toBe(found);
  });

  test.each<[what: string, next: VersionEntry]>([
    ["its dates", { ...V1, activeFrom: new Date(1) }],
    ["its announcement", { ...V1, announcedFrom: new Date(1) }],
    ["its public key", { ...V1, publicKey: { x: "c" } }],
  ])("change with %s", async (_what, next) => {
    const keys = createVersionedKeys(
      [V1],
      async () => [next],
      async () => {},
    );
    expect(await keys.refresh()).toBe(true);
  });

  test("are closed once, at the end of a block too", async () => {
    let closes = 0;
    const close = async (): Promise<void> => void (closes += 1);
    const keys = createVersionedKeys([V1], async () => [V1], close);
    await keys[Symbol.asyncDispose]();
    await keys.close();
    expect(closes).toBe(1);
    await expect(keys.refresh()).rejects.toMatchObject({ code: "closed" });
  });

  test("are listed once for refreshes at the same time", async () => {
    let lists = 0;
    const list = async (): Promise<readonly VersionEntry[]> => {
      lists += 1;
      return [V1];
    };
    const keys = createVersionedKeys([V1], list, async () => {});
    await Promise.all([keys.refresh(), keys.refresh()]);
    expect(lists).toBe(1);
  });

  test("stay when a refresh fails, and the next one lists again", async () => {
    let fails = true;
    const list = async (): Promise<readonly VersionEntry[]> => {
      if (fails) throw new Error("made up");
      return [V2];
    };
    const keys = createVersionedKeys([V1], list, async () => {});
    await expect(keys.refresh()).rejects.toThrow("made up");
    expect(keys.versions).toEqual([V1]);
    fails = false;
    expect(await keys.refresh()).toBe(true);
  });

  test("end a refresh when they are closed, once", async () => {
    let closed = 0;
    const list = (signal: AbortSignal): Promise<readonly VersionEntry[]> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    const keys = createVersionedKeys([V1], list, async () => void (closed += 1));
    const refreshing = expect(keys.refresh()).rejects.toMatchObject({ code: "closed" });
    await Promise.all([keys.close(), keys.close()]);
    await refreshing;
    await expect(keys.refresh()).rejects.toMatchObject({ code: "closed" });
    expect(closed).toBe(1);
  });
});

test("the first version is active at once, and a later one is announced first", () => {
  const created = new Date("2026-03-01T08:00:00Z");
  const delays = { pickUpMinutes: 15, announceHours: 4 };
  expect(versionDates(created, true, delays)).toEqual({ announcedFrom: created, activeFrom: created });
  expect(versionDates(created, false, delays)).toEqual({
    announcedFrom: new Date("2026-03-01T08:15:00Z"),
    activeFrom: new Date("2026-03-01T12:16:00Z"),
  });
});
