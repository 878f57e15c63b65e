import { afterEach, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { createOwnAgent, readInstant, type AgentLike, type AgentTimes, type OwnAgent } from "@signpost/core/adapter";

afterEach(() => void vi.restoreAllMocks());

const { signal: NEVER } = new AbortController();
const LATE = AbortSignal.abort(new SignerError("timeout", "no answer in time"));
const GONE = AbortSignal.abort(new Error("the user went away"));
const CUT = new Error("cut");
const REQUEST = { origin: "https://kms.example", path: "/", method: "GET", headers: {}, signal: NEVER } as const;

interface Opened {
  readonly times: AgentTimes;
  state: "open" | "closed" | "destroyed";
  requests: number;
}

/** An agent whose undici agents answer at once with two bytes, and that are listed in order. */
function created(): { readonly agent: OwnAgent; readonly opened: readonly Opened[] } {
  const opened: Opened[] = [];
  const open = (times: AgentTimes): AgentLike => {
    const one: Opened = { times, state: "open", requests: 0 };
    opened.push(one);
    return {
      dispatch: (_request, handler) => {
        one.requests += 1;
        const controller = { abort: () => {} };
        handler.onResponseStart(controller, 200, {});
        handler.onResponseData(controller, new Uint8Array(2));
        handler.onResponseEnd();
      },
      close: async () => {
        one.state = "closed";
        throw new Error("already closed");
      },
      destroy: async () => void (one.state = "destroyed"),
    };
  };
  return { agent: createOwnAgent({ open, isConnectionLoss: (error) => error === CUT }), opened };
}

/** Clocks that stand still until the test changes them. */
function stoppedClocks(): { monotonic: number; wall: number } {
  const now = { monotonic: 1000, wall: 1_800_000_000_000 };
  vi.spyOn(performance, "now").mockImplementation(() => now.monotonic);
  vi.spyOn(Date, "now").mockImplementation(() => now.wall);
  return now;
}

test("connections are kept for 20 s, and the signal of a request ends it", () => {
  const times = { keepAliveTimeout: 20_000, keepAliveMaxTimeout: 20_000, headersTimeout: 0, bodyTimeout: 0 };
  expect(created().opened).toEqual([{ times, state: "open", requests: 0 }]);
});

test("a response is read up to the limit of its request", async () => {
  const { agent } = created();
  expect(await agent.request(REQUEST, 2)).toEqual({ statusCode: 200, headers: {}, body: [new Uint8Array(2)] });
  const dispatch = vi.fn<AgentLike["dispatch"]>((_request, handler) => {
    const abort = (error: Error): void => handler.onResponseError({ abort: () => {} }, error);
    handler.onResponseStart({ abort }, 200, {});
    for (let part = 0; part < 3; part += 1) handler.onResponseData({ abort }, new Uint8Array(1));
  });
  const one: AgentLike = { dispatch, close: async () => {}, destroy: async () => {} };
  const long = createOwnAgent({ open: () => one, isConnectionLoss: () => false });
  expect((await long.request(REQUEST, 2)).body).toHaveLength(3);
  const { signal: _signal, ...sent } = REQUEST;
  expect(dispatch).toHaveBeenCalledWith(sent, expect.anything());
});

test.each([
  ["monotonic", 19_999, [2]],
  ["monotonic", 20_000, [1, 1]],
  ["wall", 19_999, [2]],
  // The process was frozen, and its monotonic clock stood still.
  ["wall", 20_000, [1, 1]],
] as const)(
  "on the %s clock, %i ms after a request, the requests of each agent are %j",
  async (clock, ms, requests) => {
    const now = stoppedClocks();
    const { agent, opened } = created();
    await agent.request(REQUEST, 2);
    now[clock] += ms;
    await agent.request(REQUEST, 2);
    expect(opened.map((one) => one.requests)).toEqual(requests);
  },
);

test("the time since the last request counts, not since the first", async () => {
  const now = stoppedClocks();
  const { agent, opened } = created();
  for (let count = 0; count < 4; count += 1) {
    now.monotonic += 19_000;
    await agent.request(REQUEST, 2);
  }
  expect(opened.map(({ requests }) => requests)).toEqual([4]);
});

test.each<[what: string, error: Error, signal: AbortSignal, agents: number]>([
  ["that got no answer in time", new Error("aborted"), LATE, 2],
  ["that lost its connection", CUT, NEVER, 2],
  ["that lost its connection after its caller gave up", CUT, GONE, 2],
  ["whose caller gave up", new Error("aborted"), GONE, 1],
  ["that was refused", new Error("refused"), NEVER, 1],
])("after a request %s, there have been %o agents", (_what, error, signal, agents) => {
  const { agent, opened } = created();
  agent.failed(error, readInstant(), signal);
  expect(opened).toHaveLength(agents);
});

test("requests that fail together replace the agent once", () => {
  const now = stoppedClocks();
  const { agent, opened } = created();
  const startedAt = readInstant();
  now.monotonic += 1;
  agent.failed(CUT, startedAt, NEVER);
  expect(opened).toHaveLength(2);
  agent.failed(CUT, startedAt, NEVER);
  expect(opened).toHaveLength(2);
  // This one began with the new agent.
  agent.failed(CUT, readInstant(), NEVER);
  expect(opened).toHaveLength(3);
});

test("an agent that was replaced is left to its requests, and closing ends those of the current one", async () => {
  const { agent, opened } = created();
  agent.failed(CUT, readInstant(), NEVER);
  await agent.close();
  expect(opened.map(({ state }) => state)).toEqual(["closed", "destroyed"]);
  expect(opened.map(({ times }) => times)).toEqual([opened[0]?.times, opened[0]?.times]);
});
