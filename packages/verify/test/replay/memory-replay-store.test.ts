import { createMemoryReplayStore } from "@signpost/verify";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fakeClock } from "../support/remote.ts";

describe("the replay store in memory", () => {
  it("gives an id to the first alone, until its time is over", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now });
    await store.ready();
    const claims = await Promise.all(Array.from({ length: 10 }, () => store.claim("a", 1000)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    clock.advanceSeconds(0.999);
    expect(await store.claim("a", 1000)).toBe(false);
    clock.advanceSeconds(0.001);
    expect(await store.claim("a", 1000)).toBe(true);
  });

  it.each([
    ["was set forward", 3600],
    ["went on while the other stood still", 0.001],
  ])("keeps an id until both clocks say that its time is over: the wall clock %s", async (_name, extra) => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now });
    await store.claim("a", 1000);
    clock.moveWallSeconds(1 + extra);
    expect(await store.claim("a", 1000)).toBe(false);
    clock.advanceSeconds(0.999);
    expect(await store.claim("a", 1000)).toBe(false);
    clock.advanceSeconds(0.001);
    expect(await store.claim("a", 1000)).toBe(true);
  });

  it("keeps an id longer if the wall clock was set back", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now });
    await store.claim("a", 1000);
    clock.moveWallSeconds(-3600);
    clock.advanceSeconds(3600);
    expect(await store.claim("a", 1000)).toBe(false);
    clock.advanceSeconds(1);
    expect(await store.claim("a", 1000)).toBe(true);
  });

  it("finds room again by both clocks", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now, maxEntries: 2 });
    await store.claim("a", 500);
    await store.claim("b", 500);
    clock.moveWallSeconds(60);
    await expect(store.claim("c", 1000)).rejects.toMatchObject({ code: "replay_store_full" });
    clock.advanceSeconds(1);
    expect(await store.claim("c", 1000)).toBe(true);
  });

  it("refuses a new id when it is full of ids that count, and takes it when some have expired", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now, maxEntries: 3 });
    for (const [id, seconds] of [
      ["a", 5],
      ["b", 10],
      ["c", 10],
    ] as const)
      expect(await store.claim(id, seconds * 1000)).toBe(true);
    await expect(store.claim("d", 1000)).rejects.toMatchObject({ code: "replay_store_full" });
    expect(await store.claim("a", 1000)).toBe(false);
    clock.advanceSeconds(5);
    expect(await store.claim("d", 10_000)).toBe(true);
    expect(await store.claim("b", 1000)).toBe(false);
    await expect(store.claim("e", 1000)).rejects.toMatchObject({ code: "replay_store_full" });
  });

  it("looks for expired ids once a second at most while it is full", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now, maxEntries: 2 });
    await store.claim("a", 500);
    await store.claim("b", 60_000);
    await expect(store.claim("c", 1000)).rejects.toMatchObject({ code: "replay_store_full" });
    clock.advanceSeconds(0.75);
    await expect(store.claim("c", 1000)).rejects.toMatchObject({ code: "replay_store_full" });
    clock.advanceSeconds(0.25);
    expect(await store.claim("c", 1000)).toBe(true);
  });

  it("forgets expired ids, so it never grows beyond the others", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now, maxEntries: 2000 });
    for (let index = 0; index < 10_000; index += 1) {
      expect(await store.claim(`id-${index}`, 1000)).toBe(true);
      clock.advanceSeconds(0.001);
    }
  });

  it("gives each client a tenth of its room, so that one cannot lock out the others", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now, maxEntries: 100 });
    const claim = async (clientId: string, id: string) => store.claim(`${clientId}-${id}`, 60_000, { clientId });
    for (let index = 0; index < 10; index += 1) expect(await claim("greedy", String(index))).toBe(true);
    await expect(claim("greedy", "more")).rejects.toMatchObject({ code: "replay_store_full", transient: true });
    // What it has used is known all the same.
    expect(await claim("greedy", "0")).toBe(false);
    for (let client = 0; client < 9; client += 1) {
      for (let index = 0; index < 10; index += 1) expect(await claim(`client-${client}`, String(index))).toBe(true);
    }
    await expect(store.claim("one more", 1000)).rejects.toMatchObject({ code: "replay_store_full" });
    clock.advanceSeconds(60);
    expect(await claim("greedy", "more")).toBe(true);
  });

  it("gives a client its share back as its ids expire, though the store is not full", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now, maxEntries: 20 });
    const options = { clientId: "client" };
    await store.claim("a", 1000, options);
    await store.claim("b", 60_000, options);
    await expect(store.claim("c", 1000, options)).rejects.toMatchObject({ code: "replay_store_full" });
    clock.advanceSeconds(1);
    expect(await store.claim("c", 1000, options)).toBe(true);
    await expect(store.claim("d", 1000, options)).rejects.toMatchObject({ code: "replay_store_full" });
    clock.advanceSeconds(60);
    for (const id of ["a", "b"]) expect(await store.claim(id, 1000, options)).toBe(true);
    await expect(store.claim("c", 1000, options)).rejects.toMatchObject({ code: "replay_store_full" });
  });

  it("looks for a client's expired ids once a second at most", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now, maxEntries: 20 });
    const options = { clientId: "client" };
    await store.claim("a", 500, options);
    await store.claim("b", 60_000, options);
    clock.advanceSeconds(0.75);
    await expect(store.claim("c", 1000, options)).rejects.toMatchObject({ code: "replay_store_full" });
    clock.advanceSeconds(0.25);
    expect(await store.claim("c", 1000, options)).toBe(true);
  });

  it("takes an id for one, whichever client brings it", async () => {
    const store = createMemoryReplayStore();
    expect(await store.claim("a", 1000, { clientId: "one" })).toBe(true);
    expect(await store.claim("a", 1000, { clientId: "two" })).toBe(false);
    expect(await store.claim("a", 1000)).toBe(false);
  });

  it("counts an id for the client that claimed it last", async () => {
    const clock = fakeClock();
    const store = createMemoryReplayStore({ clock, now: clock.now, maxEntries: 10 });
    expect(await store.claim("a", 1000, { clientId: "one" })).toBe(true);
    clock.advanceSeconds(1);
    expect(await store.claim("a", 60_000, { clientId: "two" })).toBe(true);
    expect(await store.claim("b", 1000, { clientId: "one" })).toBe(true);
    await expect(store.claim("c", 1000, { clientId: "two" })).rejects.toMatchObject({ code: "replay_store_full" });
  });

  it("gives those without a client all of its room", async () => {
    const store = createMemoryReplayStore({ maxEntries: 100 });
    for (let index = 0; index < 100; index += 1) expect(await store.claim(String(index), 1000)).toBe(true);
  });

  it("puts an id without a client into no client's share", async () => {
    const store = createMemoryReplayStore();
    const added = vi.spyOn(Set.prototype, "add");
    onTestFinished(() => added.mockRestore());
    await store.claim("alone", 1000);
    expect(added.mock.calls.flat()).not.toContain("alone");
    await store.claim("shared", 1000, { clientId: "client" });
    expect(added.mock.calls.flat()).toContain("shared");
  });

  it("has room for 100,000 ids, and for 10,000 of one client", async () => {
    const store = createMemoryReplayStore();
    const options = { clientId: "client" };
    for (let index = 0; index < 10_000; index += 1) await store.claim(`c${index}`, 60_000, options);
    await expect(store.claim("c", 1000, options)).rejects.toThrow("holds 10000 ids of this client");
    for (let index = 10_000; index < 100_000; index += 1) await store.claim(String(index), 60_000);
    await expect(store.claim("one more", 1000)).rejects.toThrow("100000 ids have not expired");
  });

  it("has room for one id of a client, however small it is", async () => {
    const store = createMemoryReplayStore({ maxEntries: 9 });
    const options = { clientId: "client" };
    expect(await store.claim("a", 1000, options)).toBe(true);
    await expect(store.claim("b", 1000, options)).rejects.toThrow("holds 1 ids of this client");
  });

  it.each([0, -1, 1.5, Number.NaN])("maxEntries: %d is refused", (maxEntries) => {
    expect(() => createMemoryReplayStore({ maxEntries })).toThrow(expect.objectContaining({ argument: "maxEntries" }));
  });
});
