import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { CredentialsError } from "../src/credential-errors.ts";
import { createSockets, withLiveSockets } from "../src/sockets.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

const wait = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};

describe("idle connections", () => {
  test("are those of at most so many, kept for 20 s", () => {
    const { httpAgent, httpsAgent, idleMs } = createSockets(7, undefined, { secureContext: undefined });
    expect(idleMs).toBe(20_000);
    for (const agent of [httpAgent, httpsAgent]) {
      expect(agent).toMatchObject({
        maxSockets: 7,
        options: { keepAlive: true, maxSockets: 7, timeout: 20_000, scheduling: "lifo" },
      });
    }
  });

  test("that are idle are closed on both protocols", () => {
    const { httpAgent, httpsAgent, dropIdle } = createSockets(7);
    const sockets = [httpAgent, httpsAgent].map((agent) => {
      const destroy = vi.fn<() => void>();
      Object.assign(agent, { freeSockets: { "a:1:": [{ destroy }], "b:1:": undefined } });
      return destroy;
    });
    dropIdle();
    for (const destroy of sockets) expect(destroy).toHaveBeenCalledOnce();
  });

  test.each<[what: string, error: Error, signal: AbortSignal | undefined, times: number]>([
    ["was cut", Object.assign(new Error("x"), { code: "ECONNRESET" }), undefined, 1],
    ["got no answer in time", new Error("x"), AbortSignal.abort(new SignerError("timeout", "late")), 1],
    ["was ended by its caller", new Error("x"), AbortSignal.abort(new Error("gone")), 0],
    ["waited for credentials", new CredentialsError({ code: "timeout", text: "late" }, undefined), undefined, 1],
    ["got no credentials", new CredentialsError({ code: "access_denied", text: "no" }, undefined), undefined, 0],
    ["failed", new SignerError("timeout", "another"), undefined, 0],
  ])("are dropped after a call that %s: %#", async (_what, error, signal, times) => {
    const dropIdle = vi.fn<() => void>();
    const api = withLiveSockets(
      { getPublicKey: () => Promise.reject(error), sign: async () => ({}) },
      { idleMs: 20_000, dropIdle },
    );
    await expect(api.getPublicKey({ KeyId: "k" }, { signal })).rejects.toBe(error);
    expect(dropIdle).toHaveBeenCalledTimes(times);
  });

  test.each([
    [19_999, 0],
    [20_000, 1],
  ])("are dropped before a call after %i ms without one: %i times", async (idleMs, times) => {
    const dropIdle = vi.fn<() => void>();
    const api = withLiveSockets(
      { getPublicKey: async () => ({}), sign: async () => ({}) },
      { idleMs: 20_000, dropIdle },
    );
    await wait(idleMs);
    await api.getPublicKey({ KeyId: "k" }, {});
    expect(dropIdle).toHaveBeenCalledTimes(times);
    await api.getPublicKey({ KeyId: "k" }, {});
    expect(dropIdle).toHaveBeenCalledTimes(times);
  });
});
