import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createCredentialSource, type CredentialProvider } from "../src/credential-source.ts";
import type { RequestRecord } from "../src/credential-requests.ts";

/** The questions in the order in which they were asked, and those whose requests were dropped. */
const state = vi.hoisted(() => ({ asked: [] as unknown[], dropped: [] as unknown[] }));
vi.mock("../src/credential-requests.ts", async (load) => {
  const real = await load<typeof import("../src/credential-requests.ts")>();
  return {
    ...real,
    recordRequests: <Answer>(record: RequestRecord, ask: () => Answer): Answer => {
      state.asked.push(record);
      return real.recordRequests(record, ask);
    },
    dropRequests: (record: RequestRecord) => {
      state.dropped.push(record);
      real.dropRequests(record);
    },
  };
});

beforeEach(() => {
  state.asked.length = 0;
  state.dropped.length = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
});
afterEach(() => void vi.useRealTimers());
const wait = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};

const PATIENCE_MS = 1000;
/** A source whose providers answer when they are told, by the number of the question. */
function hangingSource(ended?: AbortSignal): {
  readonly source: CredentialProvider<string>;
  readonly answer: (question: number) => void;
  readonly fail: (question: number) => void;
} {
  const ends: { resolve: (identity: string) => void; reject: (error: Error) => void }[] = [];
  const provider: CredentialProvider<string> = () =>
    new Promise<string>((resolve, reject) => void ends.push({ resolve, reject }));
  const source = createCredentialSource(() => (options) => provider(options), PATIENCE_MS, ended);
  return {
    source: (options) => {
      const asked = source(options);
      asked.catch(() => undefined);
      return asked;
    },
    answer: (question) => ends[question]?.resolve(`identity ${question}`),
    fail: (question) => ends[question]?.reject(new Error("no")),
  };
}
/** The numbers of the questions whose requests were dropped, each once. */
const dropped = (): number[] =>
  [...new Set(state.dropped)].map((record) => state.asked.indexOf(record)).toSorted((a, b) => a - b);

describe("the requests of a question for credentials are dropped", () => {
  test("when a newer one was answered, once nothing waits for it", async () => {
    const { source, answer } = hangingSource();
    void source();
    await wait(PATIENCE_MS);
    expect(dropped()).toEqual([]);
    const second = source();
    answer(1);
    expect(await second).toBe("identity 1");
    expect(dropped()).toEqual([0]);
  });

  test("when its last waiter has gone, if a newer one was answered before", async () => {
    const { source, answer } = hangingSource();
    void source();
    await wait(PATIENCE_MS - 1);
    // Waits for the first one, which another question replaces in a millisecond.
    const patient = source();
    await wait(1);
    void source();
    answer(1);
    await wait(0);
    expect(dropped()).toEqual([]);
    await wait(PATIENCE_MS - 2);
    expect(dropped()).toEqual([]);
    await wait(1);
    await expect(patient).rejects.toMatchObject({ row: { code: "timeout" } });
    expect(dropped()).toEqual([0]);
  });

  test("when an older one was answered late, whose provider is asked from now on", async () => {
    const { source, answer } = hangingSource();
    void source();
    await wait(PATIENCE_MS);
    const second = source();
    answer(0);
    expect(await second).toBe("identity 0");
    expect(dropped()).toEqual([1]);
  });

  test("when more than eight have hung, of the oldest", async () => {
    const { source } = hangingSource();
    let patienceMs = PATIENCE_MS;
    for (let question = 0; question < 9; question += 1) {
      void source();
      await wait(patienceMs);
      patienceMs = Math.min(2 * patienceMs, 30_000);
    }
    expect(dropped()).toEqual([]);
    void source();
    await wait(0);
    expect(dropped()).toEqual([0]);
    await wait(30_000);
    void source();
    await wait(0);
    expect(dropped()).toEqual([0, 1]);
  });

  test("when the client is closed: all that are open, and none that have ended", async () => {
    const closing = new AbortController();
    const { source, answer, fail } = hangingSource(closing.signal);
    void source();
    await wait(PATIENCE_MS);
    void source();
    void source({ forceRefresh: true });
    expect(state.asked).toHaveLength(3);
    // Questions to one provider share their requests.
    expect(state.asked[2]).toBe(state.asked[1]);
    closing.abort();
    expect(dropped()).toEqual([0, 1]);

    const other = new AbortController();
    const ended = hangingSource(other.signal);
    state.dropped.length = 0;
    const first = ended.source();
    ended.answer(0);
    await first;
    void ended.source();
    ended.fail(1);
    await wait(0);
    other.abort();
    expect(dropped()).toEqual([]);
    answer(0);
    fail(1);
  });
});

describe("questions to one provider", () => {
  test("for newer credentials and for any are two, which a third call shares", async () => {
    const { source, answer } = hangingSource();
    const all = [source({ forceRefresh: true }), source(), source({ forceRefresh: true }), source({})];
    expect(state.asked).toHaveLength(2);
    expect(state.asked[1]).toBe(state.asked[0]);
    answer(0);
    expect(await Promise.all([all[0], all[2]])).toEqual(["identity 0", "identity 0"]);
    void source();
    expect(state.asked).toHaveLength(2);
    void source({ forceRefresh: true });
    expect(state.asked).toHaveLength(3);
  });

  test("that ended have requests apart from those that follow", async () => {
    const { source, answer } = hangingSource();
    const first = source();
    answer(0);
    await first;
    void source();
    expect(state.asked[1]).not.toBe(state.asked[0]);
  });
});
