import { createSecureContext } from "node:tls";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { AwsKmsApi } from "@signpost/aws-kms";
import { CredentialsError } from "../src/credential-errors.ts";
import { createSockets, withLiveSockets } from "../src/sockets.ts";

describe("the connections of a client", () => {
  test("are kept for 20 s, as many as there may be, and the most recent one is used first", () => {
    const { httpAgent, httpsAgent, idleMs } = createSockets(7);
    expect(idleMs).toBe(20_000);
    for (const agent of [httpAgent, httpsAgent]) {
      expect(Reflect.get(agent, "options")).toMatchObject({ keepAlive: true, timeout: 20_000, scheduling: "lifo" });
      expect(agent.maxSockets).toBe(7);
    }
    expect(createSockets(7, 5).idleMs).toBe(5);
  });

  test("trust what they are given over TLS", () => {
    const secureContext = createSecureContext();
    expect(Reflect.get(createSockets(7, 5, { secureContext }).httpsAgent, "options")).toMatchObject({ secureContext });
  });

  test("that are idle are closed on both protocols, and others stay", () => {
    const { httpAgent, httpsAgent, dropIdle } = createSockets(7);
    const all = [httpAgent, httpsAgent].map((agent) => {
      const [idle, busy] = [{ destroy: vi.fn<() => void>() }, { destroy: vi.fn<() => void>() }];
      const freeSockets = { "a:1:": [idle], "b:1:": undefined };
      Object.assign(agent, { freeSockets, sockets: { "a:1:": [busy] } });
      return { idle, busy };
    });
    dropIdle();
    for (const { idle, busy } of all) {
      expect(idle.destroy).toHaveBeenCalledOnce();
      expect(busy.destroy).not.toHaveBeenCalled();
    }
  });
});

describe("idle connections are dropped", () => {
  /** Both clocks. Milliseconds. */
  let now = 0;
  beforeEach(() => {
    now = 1_000_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    vi.spyOn(Date, "now").mockImplementation(() => now);
  });
  afterEach(() => void vi.restoreAllMocks());

  const key = { KeyId: "alias/op" };
  const digest = { Message: new Uint8Array(32), MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
  const CALLS = [
    ["getPublicKey", (api: AwsKmsApi, signal?: AbortSignal) => api.getPublicKey(key, { signal })],
    ["sign", (api: AwsKmsApi, signal?: AbortSignal) => api.sign({ ...key, ...digest }, { signal })],
  ] as const;
  const live = (answer: () => Promise<object> = async () => key) => {
    const dropIdle = vi.fn<() => void>();
    return { api: withLiveSockets({ getPublicKey: answer, sign: answer }, { idleMs: 20_000, dropIdle }), dropIdle };
  };

  test.each(CALLS)("after 20 s without a call, before the next %s, and not sooner", async (_name, call) => {
    const { api, dropIdle } = live();
    now += 19_999;
    expect(await call(api)).toEqual(key);
    now += 19_999;
    await call(api);
    expect(dropIdle).not.toHaveBeenCalled();
    now += 20_000;
    await call(api);
    expect(dropIdle).toHaveBeenCalledOnce();
    await call(api);
    expect(dropIdle).toHaveBeenCalledOnce();
  });

  test("since the end of their last use, even if that failed", async () => {
    const { api, dropIdle } = live(async () => {
      now += 15_000;
      throw new Error("refused");
    });
    await expect(api.getPublicKey(key, {})).rejects.toThrow("refused");
    now += 19_999;
    await expect(api.getPublicKey(key, {})).rejects.toThrow("refused");
    expect(dropIdle).not.toHaveBeenCalled();
  });

  test.each<[what: string, error: Error, signal: AbortSignal | undefined, times: number]>([
    ["a cut connection", Object.assign(new Error("x"), { code: "ECONNRESET" }), undefined, 1],
    ["a silent one", Object.assign(new Error("x"), { name: "TimeoutError" }), undefined, 1],
    ["late credentials", new CredentialsError({ code: "timeout", text: "late" }, undefined), undefined, 1],
    ["refused credentials", new CredentialsError({ code: "access_denied", text: "no" }, undefined), undefined, 0],
    ["an error with such a row", Object.assign(new Error("x"), { row: { code: "timeout" } }), undefined, 0],
    ["an error of Signpost that is late", new SignerError("timeout", "another"), undefined, 0],
    ["a refusal", Object.assign(new Error("x"), { name: "DisabledException" }), undefined, 0],
    ["the end of its time", new Error("x"), AbortSignal.abort(new SignerError("timeout", "late")), 1],
    ["an end by the caller", new Error("x"), AbortSignal.abort(new Error("gone")), 0],
  ])("after %s", async (_what, error, signal, times) => {
    const { api, dropIdle } = live(() => Promise.reject(error));
    for (const [, call] of CALLS) {
      dropIdle.mockClear();
      await expect(call(api, signal)).rejects.toBe(error);
      expect(dropIdle).toHaveBeenCalledTimes(times);
    }
  });
});
