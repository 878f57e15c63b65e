import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { GcpKmsClientLike } from "@signpost/gcp-kms";
import { startLife, type ClientLife } from "../src/client-life.ts";
import type * as requests from "../src/credential-requests.ts";

/** How often what was kept for recording was let go. */
const recording = vi.hoisted(() => ({ ends: 0 }));
vi.mock("../src/credential-requests.ts", async (load) => {
  const real = await load<typeof requests>();
  const keepRecording = (): (() => void) => {
    const end = real.keepRecording();
    return () => {
      recording.ends += 1;
      end();
    };
  };
  return { ...real, keepRecording };
});

/** The monotonic clock. Milliseconds. */
let now = 0;
beforeEach(() => {
  now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => vi.restoreAllMocks());

const OUT_OF_TIME = new SignerError("timeout", "no answer in time");
const REFUSED = new Error("refused");

/** One client, how often its channel was considered dead, and how often it was closed. */
function living(patienceMs = 0): { life: ClientLife; readonly silences: () => number; readonly closed: () => number } {
  let silences = 0;
  let closed = 0;
  const refuse = async (): Promise<never> => Promise.reject(REFUSED);
  const client: GcpKmsClientLike = {
    initialize: async () => ({ getChannel: () => undefined }),
    getPublicKey: refuse,
    asymmetricSign: refuse,
    getCryptoKeyVersion: refuse,
    listCryptoKeyVersions: refuse,
    close: async () => void (closed += 1),
  };
  const life = startLife(
    () => client,
    () => void (silences += 1),
    patienceMs,
  );
  return { life, silences: () => silences, closed: () => closed };
}

interface Begun {
  /** Its signal aborts. */
  endAt(time: number, reason?: unknown): void;
  answerAt(time: number): Promise<void>;
  failAt(time: number): Promise<void>;
}

function begin(life: ClientLife, at: number, timeoutMs = 60_000): Begun {
  now = at;
  const caller = new AbortController();
  const { promise, resolve, reject } = withResolvers();
  const call = life.call({ timeoutMs, signal: caller.signal }, () => promise).catch(() => undefined);
  return {
    endAt: (time, reason = OUT_OF_TIME) => {
      now = time;
      caller.abort(reason);
    },
    answerAt: async (time) => {
      now = time;
      resolve();
      await call;
    },
    failAt: async (time) => {
      now = time;
      reject(REFUSED);
      await call;
    },
  };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } {
  let resolve: () => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<void>((resolved, rejected) => {
    resolve = resolved;
    reject = rejected;
  });
  return { promise, resolve, reject };
}

describe("a channel that has never answered is dead", () => {
  test("after two calls without an answer, one after the other", () => {
    const { life, silences } = living();
    begin(life, 0).endAt(200);
    expect(silences()).toBe(0);
    begin(life, 200).endAt(400);
    expect(silences()).toBe(1);
  });

  test("not after two at the same time, which saw the same silence", () => {
    const { life, silences } = living();
    const calls = [begin(life, 0), begin(life, 199)];
    calls[0]?.endAt(200);
    calls[1]?.endAt(600);
    expect(silences()).toBe(0);
    begin(life, 600).endAt(800);
    expect(silences()).toBe(1);
  });

  test.each([
    [999, 0],
    [1000, 1],
  ])("once it was silent for all of its time: after %d of 1000 ms, %d times", (endsAt, times) => {
    const { life, silences } = living(1000);
    begin(life, 0).endAt(200);
    begin(life, 200).endAt(endsAt);
    expect(silences()).toBe(times);
  });

  test("counting from the first of those calls", () => {
    const { life, silences } = living(1000);
    begin(life, 5000).endAt(5200);
    begin(life, 5200).endAt(5400);
    begin(life, 5400).endAt(5999);
    expect(silences()).toBe(0);
    begin(life, 5999).endAt(6199);
    expect(silences()).toBe(1);
  });

  test("not again once its client was left", () => {
    const { life, silences } = living();
    begin(life, 0).endAt(200);
    const last = begin(life, 200);
    life.retire();
    last.endAt(400);
    expect(silences()).toBe(0);
  });
});

describe("a channel that has answered is dead", () => {
  test("after one call without an answer", async () => {
    const { life, silences } = living(1000);
    await begin(life, 0).answerAt(10);
    begin(life, 20).endAt(220);
    expect(silences()).toBe(1);
  });

  test.each([
    [1099, 1],
    [1100, 0],
  ])("unless it answered another one in the second half of that call: at %d, %d times", async (answersAt, times) => {
    const { life, silences } = living();
    const other = begin(life, 900);
    const lost = begin(life, 1000);
    await other.answerAt(answersAt);
    lost.endAt(1200);
    expect(silences()).toBe(times);
  });

  test("also if the answer was a refusal", async () => {
    const { life, silences } = living(1000);
    await begin(life, 0).failAt(10);
    begin(life, 20).endAt(220);
    expect(silences()).toBe(1);
  });
});

test.each<[timeoutMs: number, hadMs: number, times: number]>([
  [60_000, 199, 0],
  [60_000, 200, 1],
  [400, 199, 0],
  [400, 200, 1],
  [300, 149, 0],
  [300, 150, 1],
])("a call of %d ms that ended after %d ms counts %d times", async (timeoutMs, hadMs, times) => {
  const { life, silences } = living();
  await begin(life, 0).answerAt(10);
  begin(life, 1000, timeoutMs).endAt(1000 + hadMs);
  expect(silences()).toBe(times);
});

test("a call that its caller ended says nothing about the channel", async () => {
  const { life, silences } = living();
  await begin(life, 0).answerAt(10);
  begin(life, 20).endAt(5000, new Error("the user went away"));
  expect(silences()).toBe(0);
});

test("an answer and a refusal are heard, and only an answer accepts the credentials", async () => {
  const { life } = living();
  expect([life.isHeard, life.isAccepted]).toEqual([false, false]);
  const late = begin(life, 0);
  late.endAt(300);
  expect(life.isHeard).toBe(false);
  // The client's own error for a call that was ended is no answer.
  await late.failAt(300);
  expect(life.isHeard).toBe(false);
  await begin(life, 300).failAt(310);
  expect([life.isHeard, life.isAccepted]).toEqual([true, false]);
  await begin(life, 320).answerAt(330);
  expect([life.isHeard, life.isAccepted]).toEqual([true, true]);
});

describe("a client that is left", () => {
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
  };

  test("is closed when its last call has ended, and once", async () => {
    const { life, closed } = living();
    await life.search().ready;
    const calls = [begin(life, 0), begin(life, 0)];
    life.retire();
    await calls[0]?.answerAt(10);
    await turns();
    expect([life.isRetired, closed()]).toEqual([true, 0]);
    await calls[1]?.failAt(20);
    await turns();
    expect(closed()).toBe(1);
    await life.close();
    expect(closed()).toBe(1);
  });

  test("is closed at once by its owner, even during a call", async () => {
    const { life, closed } = living();
    await life.search().ready;
    begin(life, 0);
    await life.close();
    expect([life.isRetired, closed()]).toEqual([true, 1]);
  });

  test("is not closed before it has a channel, which would wait for credentials", async () => {
    const { life, closed } = living();
    expect(life.hasChannel).toBe(false);
    await life.close();
    expect(closed()).toBe(0);
  });

  test("whose search never began records no more requests", async () => {
    const { life } = living();
    recording.ends = 0;
    await life.close();
    expect(recording.ends).toBe(1);
  });

  test("during its search is closed when that has ended", async () => {
    const { life, closed } = living();
    const { ready } = life.search();
    life.retire();
    expect(closed()).toBe(0);
    await ready;
    await turns();
    expect([life.hasChannel, closed()]).toEqual([true, 1]);
  });
});
