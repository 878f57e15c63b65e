import { createRedisReplayStore } from "@signpost/verify";
import { describe, expect, it, onTestFinished, vi } from "vitest";

// What the store sends, and what it makes of each reply. The tests with a real Redis are in the file next to this one.

type Reply = unknown;

/** A client like those of redis, with one reply after the other. An error is a rejection. */
function fake(...replies: readonly Reply[]) {
  const sent: (readonly string[])[] = [];
  const answer = async (): Promise<unknown> => {
    const reply = replies[sent.length - 1];
    if (reply instanceof Error) throw reply;
    return reply;
  };
  return {
    sent,
    redis: { sendCommand: async (args: string[]) => (sent.push(args), answer()) },
    ioredis: { call: async (command: string, args: string[]) => (sent.push([command, ...args]), answer()) },
  };
}

const UUID = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);

describe.each(["redis", "ioredis"] as const)("over a client like that of %s", (library) => {
  it("an id is set once, with its time in whole milliseconds, rounded up", async () => {
    const { sent, [library]: client } = fake("OK");
    expect(await createRedisReplayStore(client).claim("id", 1000.2)).toBe(true);
    expect(sent).toEqual([["SET", "signpost:replay:id", UUID, "NX", "PX", "1001"]]);
  });

  it("the prefix is the caller's, and may be empty", async () => {
    const { sent, [library]: client } = fake("OK", "OK");
    await createRedisReplayStore(client, { keyPrefix: "op:" }).claim("id", 1000);
    await createRedisReplayStore(client, { keyPrefix: "" }).claim("id", 1000);
    expect(sent.map(([, key]) => key)).toEqual(["op:id", "id"]);
  });

  it("an id that is there is looked at, and is this claim's only with its own mark", async () => {
    const { sent, [library]: client } = fake(null, "another mark", null, new Error("gone"));
    const store = createRedisReplayStore(client);
    expect(await store.claim("id", 1000)).toBe(false);
    expect(await store.claim("id", 1000)).toBe(false);
    expect(sent.map(([command]) => command)).toEqual(["SET", "GET", "SET", "GET"]);
    expect(sent[1]?.[1]).toBe(sent[0]?.[1]);
  });

  it("each claim has its own mark", async () => {
    const { sent, [library]: client } = fake("OK", "OK");
    const store = createRedisReplayStore(client);
    await store.claim("a", 1000);
    await store.claim("b", 1000);
    expect(sent[0]?.[2]).not.toBe(sent[1]?.[2]);
  });

  it("is ready if an id can be written, even if another process has just written it", async () => {
    const { sent, [library]: client } = fake("OK", null, "another mark");
    const store = createRedisReplayStore(client, { keyPrefix: "op:" });
    await store.ready();
    await store.ready();
    expect(sent[0]).toEqual(["SET", "op:ready", UUID, "NX", "PX", "1"]);
  });

  it.each<[reply: Reply, message: string]>([
    [undefined, "Redis returned neither OK nor null for SET"],
    ["QUEUED", "Redis returned neither OK nor null for SET"],
    [1, "Redis returned neither OK nor null for SET"],
    [new Error("READONLY You can't write against a read only replica."), "Redis cannot store ids: READONLY"],
    [new Error("OOM command not allowed"), "Redis cannot store ids: OOM"],
    [Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), "Redis cannot store ids: ECONNREFUSED"],
    [new Error("-OOM command"), "Redis cannot store ids"],
    [new Error("Not a code"), "Redis cannot store ids"],
    [new Error("X is too short"), "Redis cannot store ids"],
    [new Error(`${"X".repeat(33)} is too long`), "Redis cannot store ids"],
    [new Error(`${"X".repeat(32)} is not`), `Redis cannot store ids: ${"X".repeat(32)}`],
    [new Error("NOAUTH"), "Redis cannot store ids"],
  ])("the reply %s is no answer", async (reply, message) => {
    const { [library]: client } = fake(reply);
    await expect(createRedisReplayStore(client).claim("id", 1000)).rejects.toMatchObject({
      name: "VerifyError",
      code: "replay_store_unavailable",
      transient: true,
      message,
    });
  });

  it.each<[members: object, message: string]>([
    [{ isReady: false }, "Redis cannot store ids: the client is not connected"],
    [{ status: "connecting" }, "Redis cannot store ids: the client is not connected"],
    [{ isReady: true }, "Redis cannot store ids"],
    [{ status: "ready" }, "Redis cannot store ids"],
    [{ status: 7 }, "Redis cannot store ids"],
    [{ isReady: undefined }, "Redis cannot store ids"],
  ])("a client with %j fails for a reason that it tells", async (members, message) => {
    const { [library]: client } = fake(new Error("said no more"));
    const store = createRedisReplayStore(Object.assign(client, members));
    await expect(store.claim("id", 1000)).rejects.toMatchObject({ message });
  });

  it("the cause of a failure has its code", async () => {
    const { [library]: client } = fake(Object.assign(new Error("connect"), { code: "ECONNREFUSED", other: "member" }));
    const error: unknown = await createRedisReplayStore(client)
      .claim("id", 1000)
      .catch((thrown: unknown) => thrown);
    expect((error as Error).cause).toMatchObject({ code: "ECONNREFUSED" });
    expect((error as Error).cause).not.toHaveProperty("other");
  });

  it("the cause does not show the id", async () => {
    const { [library]: client } = fake(Object.assign(new Error("ERR unknown id-7"), { command: { args: ["id-7"] } }));
    const error: unknown = await createRedisReplayStore(client)
      .claim("id-7", 1000)
      .catch((thrown: unknown) => thrown);
    expect((error as Error).cause).toBeInstanceOf(Error);
    expect(
      JSON.stringify([String(error), String((error as Error).cause), error, (error as Error).cause]),
    ).not.toContain("id-7");
  });
});

it.each([
  [{}, 1000],
  [{ timeoutMs: 20 }, 20],
])("with %j, Redis has %d ms for its answer", async (options, ms) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const never = { sendCommand: async () => new Promise(() => {}) };
  const outcome = createRedisReplayStore(never, options)
    .claim("id", 1000)
    .catch((error: unknown) => error);
  let isOver = false;
  void outcome.then(() => (isOver = true));
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await outcome).toMatchObject({
    code: "replay_store_unavailable",
    message: `Redis did not answer within ${ms} ms`,
    transient: true,
  });
});

it.each([
  ["two", (_args: string[], _options?: unknown) => Promise.resolve("OK"), true],
  [
    "three, as that of a cluster",
    (_key: string, _isReadOnly: boolean, _args: string[]) => Promise.resolve("OK"),
    false,
  ],
])("a client whose command takes %s parameters is judged", (_count, sendCommand, isTaken) => {
  const make = () => createRedisReplayStore({ sendCommand } as never);
  if (isTaken) expect(make).not.toThrow();
  else expect(make).toThrow(expect.objectContaining({ argument: "client" }));
});
