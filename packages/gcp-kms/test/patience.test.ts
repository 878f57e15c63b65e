import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { GcpKmsClientLike } from "@signpost/gcp-kms";
import type { Connection } from "../src/connection.ts";
import { ownConnection } from "../src/own-connection.ts";

// How long a connection waits before it tries another client, to the millisecond.

/** Both clocks. Milliseconds. */
let now = 0;
beforeEach(() => {
  now = 1_000_000;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.spyOn(Date, "now").mockImplementation(() => now);
});
afterEach(() => vi.restoreAllMocks());

const SUBJECT = { action: "read", name: "v" };
const never = async (): Promise<never> => new Promise<never>(() => undefined);

interface Answers {
  readonly initialize?: () => Promise<object>;
  readonly getPublicKey?: () => Promise<[object]>;
}

function connected({ initialize = async () => ({ getChannel: () => undefined }), getPublicKey = never }: Answers): {
  readonly connection: Connection;
  readonly made: () => number;
} {
  let made = 0;
  const create = (): GcpKmsClientLike => {
    made += 1;
    return {
      initialize,
      getPublicKey,
      asymmetricSign: never,
      getCryptoKeyVersion: never,
      listCryptoKeyVersions: never,
      close: async () => undefined,
    };
  };
  return { connection: ownConnection({ create, forgetAbsence: () => undefined }), made: () => made };
}

/** Lets the microtasks of a call run, which begins after a few of them. */
const turn = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** A call that gets no answer for so long. */
async function callFor(connection: Connection, forMs: number, timeoutMs: number): Promise<void> {
  const caller = new AbortController();
  const call = connection
    .call({ timeoutMs, signal: caller.signal }, SUBJECT, async (client, options) =>
      client.getPublicKey({ name: "v" }, options),
    )
    .catch(() => undefined);
  await turn();
  now += forMs;
  caller.abort(new SignerError("timeout", "no answer in time"));
  await Promise.race([call, turn()]);
}

/** How long channels may be silent, one after the other, if none of them gets an answer. */
const SILENCES_MS = [0, 1000, 3000, 7000, 15_000, 30_000, 30_000];

test.each(SILENCES_MS.map((_silence, index) => index))(
  "channel %d in a row without an answer is left after its time, and not sooner",
  async (index) => {
    const { connection, made } = connected({});
    const silent = async (totalMs: number): Promise<void> => {
      await callFor(connection, 200, 60_000);
      await callFor(connection, totalMs - 200, 60_000);
    };
    for (const silenceMs of SILENCES_MS.slice(0, index)) await silent(Math.max(400, silenceMs));
    expect(made()).toBe(index + 1);
    const silenceMs = SILENCES_MS[index] ?? 0;
    if (silenceMs > 0) {
      await silent(silenceMs - 1);
      expect(made()).toBe(index + 1);
    }
    await callFor(connection, 200, 60_000);
    if (silenceMs === 0) await callFor(connection, 200, 60_000);
    expect(made()).toBe(index + 2);
  },
);

/** How long searches for credentials may take, one after the other, if all of them hang: for calls of a second. */
const SEARCHES_MS = [899, 1799, 3599, 7199, 14_399, 28_799, 57_599, 59_999, 59_999];

test.each(SEARCHES_MS.map((_patience, index) => index))(
  "search %d in a row that hangs is given up after its time, and not sooner",
  async (index) => {
    const { connection, made } = connected({ initialize: never });
    for (const patienceMs of SEARCHES_MS.slice(0, index)) {
      await callFor(connection, patienceMs, 1000);
      // The next one begins with the next call.
    }
    await callFor(connection, 0, 1000);
    expect(made()).toBe(index + 1);
    await callFor(connection, (SEARCHES_MS[index] ?? 0) - 1, 1000);
    await callFor(connection, 0, 1000);
    expect(made()).toBe(index + 1);
    await callFor(connection, 1, 1000);
    await callFor(connection, 0, 1000);
    expect(made()).toBe(index + 2);
  },
);

test.each([
  [4999, 2],
  [5000, 3],
])(
  "credentials that are refused again are looked for after five seconds: after %d ms there are %d clients",
  async (pauseMs, clients) => {
    const { connection, made } = connected({
      getPublicKey: async () => Promise.reject(Object.assign(new Error("16 UNAUTHENTICATED"), { code: 16 })),
    });
    await callFor(connection, 0, 1000);
    expect(made()).toBe(2);
    now += pauseMs;
    await callFor(connection, 0, 1000);
    expect(made()).toBe(clients);
  },
);
