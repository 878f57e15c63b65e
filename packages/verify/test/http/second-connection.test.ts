import { beforeEach, expect, it, vi } from "vitest";
import { onSecondConnection } from "../../src/http/second-connection.ts";

// A request over a kept connection that may be dead is sent again after a silence. Each silence ends when the test says so.

interface Silence {
  readonly ms: number;
  end(): void;
}

const silences = vi.hoisted(() => [] as { ms: number; end: () => void }[]);

vi.mock("node:timers/promises", () => ({
  setTimeout: async (ms: number, value: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((resolve, reject) => {
      silences.push({ ms, end: () => resolve(value) });
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    }),
}));

beforeEach(() => {
  silences.length = 0;
});

interface Request {
  readonly signal: AbortSignal;
  resolve(answer: string): void;
  reject(error: Error): void;
}

function started(signal: AbortSignal = new AbortController().signal) {
  const requests: Request[] = [];
  const ask = async (signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => void requests.push({ signal, resolve, reject }));
  return { requests, answer: onSecondConnection(ask, signal) };
}

const turn = async () => new Promise((later) => setImmediate(later));
const last = (): Silence => {
  const silence = silences.at(-1);
  if (silence === undefined) throw new Error("nothing waits");
  return silence;
};
const aborted = (requests: readonly Request[]) => requests.map(({ signal }) => signal.aborted);

async function afterSilences(requests: readonly Request[], count: number): Promise<void> {
  for (let silent = 1; silent <= count; silent += 1) {
    last().end();
    await expect.poll(() => requests.length).toBe(silent + 1);
  }
}

it("an answer within half a second needs no second request", async () => {
  const { requests, answer } = started();
  expect(silences.map(({ ms }) => ms)).toEqual([500]);
  requests[0]?.resolve("first");
  expect(await answer).toBe("first");
  expect(aborted(requests)).toEqual([false]);
});

it("a failure within half a second is the failure of all", async () => {
  const { requests, answer } = started();
  requests[0]?.reject(new Error("refused"));
  await expect(answer).rejects.toThrow("refused");
  expect(requests).toHaveLength(1);
});

it("after two silences, three requests wait, and no more are sent", async () => {
  const { requests, answer } = started();
  await afterSilences(requests, 2);
  await turn();
  expect(silences.map(({ ms }) => ms)).toEqual([500, 500]);
  expect(aborted(requests)).toEqual([false, false, false]);
  requests[2]?.resolve("third");
  expect(await answer).toBe("third");
  expect(requests).toHaveLength(3);
});

it.each([
  [0, [false, true, true]],
  [1, [true, false, true]],
  [2, [true, true, false]],
])("the answer to request %d aborts the others", async (index, expected) => {
  const { requests, answer } = started();
  await afterSilences(requests, 2);
  requests[index]?.resolve("answer");
  expect(await answer).toBe("answer");
  expect(aborted(requests)).toEqual(expected);
});

it("one failure among several requests is waited out", async () => {
  const { requests, answer } = started();
  await afterSilences(requests, 2);
  requests[0]?.reject(new Error("dead"));
  await turn();
  requests[1]?.reject(new Error("dead too"));
  await turn();
  requests[2]?.resolve("third");
  expect(await answer).toBe("third");
});

it("where all fail, the error is that of the first request", async () => {
  const { requests, answer } = started();
  await afterSilences(requests, 2);
  for (const [index, request] of requests.entries()) request.reject(new Error(`error ${index}`));
  await expect(answer).rejects.toThrow("error 0");
});

it("the caller's signal aborts every request, and ends the wait for a silence", async () => {
  const controller = new AbortController();
  const { requests, answer } = started(controller.signal);
  await afterSilences(requests, 1);
  controller.abort();
  expect(aborted(requests)).toEqual([true, true]);
  await turn();
  for (const { reject } of requests) reject(new Error("aborted"));
  await expect(answer).rejects.toThrow("aborted");
  expect(requests).toHaveLength(2);
});
