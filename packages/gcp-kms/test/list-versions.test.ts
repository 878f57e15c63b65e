import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { listGcpKmsKeyVersions } from "@signpost/gcp-kms";
import type { GcpKmsCallOptions, GcpKmsClientLike } from "../src/api.ts";
import type { Connection } from "../src/connection.ts";

const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k";

type List = GcpKmsClientLike["listCryptoKeyVersions"];
const state = vi.hoisted(() => ({
  list: (async () => [[]]) as List,
  close: async () => {},
  connected: [] as unknown[],
}));

vi.mock("../src/connection.ts", () => ({
  connect: async (options: unknown, name: string): Promise<Connection> => {
    state.connected.push([options, name]);
    return {
      call: async ({ timeoutMs, signal }, _subject, call) => {
        const options_: GcpKmsCallOptions = { timeout: timeoutMs, retry: null, signal };
        return call({ listCryptoKeyVersions: state.list } as GcpKmsClientLike, options_);
      },
      trouble: () => undefined,
      close: () => state.close(),
    };
  },
}));

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => {
  vi.useRealTimers();
  state.close = async () => {};
  state.connected.length = 0;
});

const versionOf = (number: number | string, createTime: object = { seconds: 1 }): object => ({
  name: `${KEY}/cryptoKeyVersions/${number}`,
  state: "ENABLED",
  createTime,
});

/** What a listing has settled with so far. */
function begin(options: object = {}): readonly unknown[] {
  const settled: unknown[] = [];
  listGcpKmsKeyVersions(KEY, options).then(
    (value) => settled.push(value),
    (error: unknown) => settled.push(error),
  );
  return settled;
}
const advance = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};

describe("versions are listed", () => {
  test.each<[options: object, deadlineMs: number]>([
    [{}, 5000],
    [{ deadlineMs: 70 }, 70],
  ])("within the deadline of %j: %d ms", async (options, deadlineMs) => {
    state.list = async () => new Promise<never>(() => undefined);
    const settled = begin(options);
    await advance(deadlineMs - 1);
    expect(settled).toEqual([]);
    await advance(1);
    expect(settled).toMatchObject([
      { code: "timeout", message: `not all versions of ${KEY} were listed within ${deadlineMs} ms` },
    ]);
  });

  test("page by page, each in the time that is left, rounded up to a millisecond", async () => {
    let elapsedMs = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + elapsedMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const asked: unknown[] = [];
    const tokens = ["a", "b", undefined];
    state.list = async (request, { timeout, autoPaginate }) => {
      asked.push([request, timeout, autoPaginate]);
      await new Promise((resolve) => setTimeout(resolve, 40));
      elapsedMs += 0.4;
      const next = tokens[asked.length - 1];
      return [[versionOf(asked.length)], next === undefined ? null : { pageToken: next }];
    };
    const settled = begin({ deadlineMs: 200 });
    await advance(120);
    expect(asked).toEqual([
      [{ parent: KEY }, 200, false],
      [{ parent: KEY, pageToken: "a" }, 160, false],
      [{ parent: KEY, pageToken: "b" }, 120, false],
    ]);
    expect(settled).toMatchObject([[{}, {}, {}]]);
  });

  test.each([[undefined], [null], [{}], [{ pageToken: "" }], [{ pageToken: null }], [{ pageToken: 7 }]])(
    "to the end, which a next page of %j is",
    async (next) => {
      let pages = 0;
      state.list = async () => {
        pages += 1;
        return [[versionOf(pages)], next as never];
      };
      const settled = begin();
      await advance(0);
      expect(pages).toBe(1);
      expect(settled).toHaveLength(1);
    },
  );

  test("in the order of their numbers, however long these are", async () => {
    const numbers = ["9223372036854775806", "10", "9223372036854775807", "9", "1"];
    state.list = async () => [numbers.map((number) => versionOf(number))];
    const settled = begin();
    await advance(0);
    const order = ["1", "9", "10", "9223372036854775806", "9223372036854775807"];
    expect(settled).toEqual([
      order.map((number) => expect.objectContaining({ keyVersion: `${KEY}/cryptoKeyVersions/${number}` })),
    ]);
  });

  test.each<[createTime: object, milliseconds: number]>([
    [{ seconds: 0 }, 0],
    [{ seconds: "1767225600", nanos: 999_999 }, 1_767_225_600_000],
    [{ seconds: 1, nanos: 1_000_000 }, 1001],
    [{ seconds: { toString: () => "2" }, nanos: 1_999_999 }, 2001],
    [{ seconds: 3, nanos: null }, 3000],
  ])("with the time of creation, to the millisecond: %j is %d", async (createTime, milliseconds) => {
    state.list = async () => [[versionOf(1, createTime)]];
    const settled = begin();
    await advance(0);
    expect(settled).toEqual([
      [{ keyVersion: `${KEY}/cryptoKeyVersions/1`, state: "ENABLED", createTime: new Date(milliseconds) }],
    ]);
  });

  test("with a state whose name the client does not know as its number", async () => {
    state.list = async () => [[{ ...versionOf(1), state: 99 }]];
    const settled = begin();
    await advance(0);
    expect(settled).toMatchObject([[{ state: "99" }]]);
  });
});

describe("versions are refused", () => {
  test.each<[what: string, version: object, code: string, told: RegExp]>([
    ["of another key", { name: `${KEY}2/cryptoKeyVersions/1` }, "wrong_key", /^asked for the versions of/],
    ["with the name of a key", { name: KEY }, "integrity", /without name$/],
    ["without seconds", { createTime: { nanos: 1 } }, "integrity", /without createTime$/],
    ["with seconds of null", { createTime: { seconds: null } }, "integrity", /without createTime$/],
    ["without a time", { createTime: null }, "integrity", /without createTime$/],
    ["without a state", { state: null }, "integrity", /without state$/],
  ])("%s", async (_what, change, code, told) => {
    state.list = async () => [[{ ...versionOf(1), ...change }]];
    const settled = begin();
    await advance(0);
    expect(settled).toMatchObject([{ code, message: expect.stringMatching(told) }]);
  });

  test("that are no list", async () => {
    state.list = async () => [undefined] as never;
    const settled = begin();
    await advance(0);
    expect(settled).toMatchObject([
      { code: "integrity", message: expect.stringMatching(/without cryptoKeyVersions$/) },
    ]);
  });
});

describe("the connection is closed", () => {
  test.each<[what: string, list: List]>([
    ["were listed", async () => [[]]],
    ["were not listed", async () => Promise.reject(Object.assign(new Error("7 PERMISSION_DENIED"), { code: 7 }))],
  ])("once versions %s, before that is told", async (_what, list) => {
    state.list = list;
    let close = (): void => undefined;
    state.close = vi.fn<() => Promise<void>>(() => new Promise((resolve) => (close = resolve)));
    const settled = begin({ transport: "rest" });
    await advance(0);
    expect(state.close).toHaveBeenCalledOnce();
    expect(settled).toEqual([]);
    expect(state.connected).toEqual([[{ transport: "rest" }, KEY]]);
    close();
    await advance(0);
    expect(settled).toHaveLength(1);
  });
});
