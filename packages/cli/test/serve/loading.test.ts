import { createPublicKey } from "node:crypto";
import { join } from "node:path";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { afterEach, describe, expect, onTestFinished, test, vi, type Mock } from "vitest";
import { createLoading, type Loading } from "../../src/serve/live/loading.ts";
import type { Log } from "../../src/serve/log.ts";
import { createCounters } from "../../src/serve/metrics/counters.ts";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

// So long that no test meets a retry that it did not ask for.
vi.mock(import("../../src/serve/live/retry-pause.ts"), async (original) => {
  const real = await original();
  return {
    ...real,
    retryPauseMs: (error, failures) => (real.retryPauseMs(error, failures) === undefined ? undefined : 3_600_000),
  };
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

test("a module that never ends is a failed load, and a later change is loaded", async () => {
  await using folder = await createKeyFolder();
  const publicKey = await folder.addKey("op.pem");
  const module = (keyId: string, before = ""): Promise<void> => {
    const config = { issuer: "https://op.example", keys: [{ keyId, publicKey }] };
    return folder.write("config.mjs", `${before}\nexport default ${JSON.stringify(config)};\n`);
  };
  await module("a");
  const log = vi.fn<Log>();
  const path = join(folder.path, "config.mjs");
  const settings = { path, log, counters: createCounters(), cors: false, weakIfNoneMatch: "ignore" } as const;
  const { live, reloader, started } = createLoading(recordingContext(folder.path), settings);
  reloader.request("start");
  await started;
  await module("b", "await new Promise(() => undefined);");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  reloader.request("change");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(reloader.last()?.failure).toMatchObject({ code: "config_timeout", exitCode: 2 });
  expect(log).toHaveBeenLastCalledWith(
    "error",
    "load_failed",
    expect.stringMatching(/^config\.mjs: it has not finished within 30 s\. Serves what it had/),
    expect.objectContaining({ reason: "change" }),
  );
  expect(live.published()?.active.keyId).toBe("a");
  vi.useRealTimers();
  await module("c");
  reloader.request("change");
  await expect.poll(() => live.published()?.active.keyId).toBe("c");
});

test("a certificate that expires soon, and one that has expired, are events of the log", async () => {
  await using folder = await createKeyFolder();
  const jwk = await folder.addKey("op.pem");
  const chain = certificateOf(createPublicKey({ key: jwk, format: "jwk" }), ["op.example"]);
  await folder.write("chain.pem", chain);
  const keys = [{ keyId: "a", publicKey: jwk, certificates: { chain: "file:chain.pem" } }];
  await folder.write("config.json", { issuer: "https://op.example", keys });
  vi.useFakeTimers({ toFake: ["Date"] });
  const log = vi.fn<Log>();
  const path = join(folder.path, "config.json");
  const settings = { path, log, counters: createCounters(), cors: false, weakIfNoneMatch: "ignore" } as const;
  const { live, reloader, started } = createLoading(recordingContext(folder.path), settings);
  reloader.request("start");
  await started;
  log.mockClear();
  for (const days of [0, 0, 2, 2]) {
    vi.setSystemTime(Date.now() + days * 86_400_000);
    live.serving()?.endpoint.respond("GET");
  }
  expect(log.mock.calls.map(([level, event, message]) => [level, event, message.replace(/20\d\d.*Z/, "…")])).toEqual([
    [
      "warn",
      "certificate_expires_soon",
      expect.stringMatching(/^keys: kid "a": certificate 1 of 1 expires at …; renew it/),
    ],
    [
      "error",
      "certificate_expired",
      expect.stringMatching(/^keys: kid "a": certificate 1 of 1 expired at …; renew it/),
    ],
  ]);
});

test("a mistake in the keys together is told before one of them is opened", async () => {
  await using folder = await createKeyFolder();
  const publicKey = await folder.addKey("op.pem");
  const keys = [
    { keyId: "a", signer: `local:${join(folder.path, "away.pem")}` },
    { keyId: "a", publicKey },
  ];
  await folder.write("config.json", { issuer: "https://op.example", keys });
  const log = vi.fn<Log>();
  const path = join(folder.path, "config.json");
  const settings = { path, log, counters: createCounters(), cors: false, weakIfNoneMatch: "ignore" } as const;
  const { reloader, started } = createLoading(recordingContext(folder.path), settings);
  reloader.request("start");
  await expect(started).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining("config.json: keys: each keyId must be unique in the set"),
  });
});

describe("a mistake in the file", () => {
  const MISTAKE = { issuer: "https://op.example", keys: "none" };

  /** A server whose first load failed, since its backend is away. */
  async function waiting(): Promise<{ folder: KeyFolder; log: Mock<Log>; loading: Loading; isStarted: () => boolean }> {
    vi.stubEnv("VAULT_TOKEN", "token");
    const folder = await createKeyFolder();
    onTestFinished(() => folder[Symbol.asyncDispose]());
    const away = { vault: { address: "http://127.0.0.1:1", openDeadlineMs: 100 } };
    const keys = [{ keyId: "a", signer: "vault:///transit/keys/op" }];
    await folder.write("config.json", { issuer: "https://op.example", keys, adapters: away });
    const log = vi.fn<Log>();
    const path = join(folder.path, "config.json");
    const settings = { path, log, counters: createCounters(), cors: false, weakIfNoneMatch: "ignore" } as const;
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const loading = createLoading({ ...recordingContext(folder.path), signal: stop.signal }, settings);
    let isStarted = false;
    loading.started.then(
      () => (isStarted = true),
      () => undefined,
    );
    loading.reloader.request("start");
    await expect.poll(() => loading.reloader.last()?.failure?.code, { timeout: 10_000 }).toBe("unavailable");
    expect(loading.reloader.last()?.retryMs).toBeGreaterThan(0);
    return { folder, log, loading, isStarted: () => isStarted };
  }

  test("ends a start whose next try finds it", async () => {
    const { folder, loading } = await waiting();
    await folder.write("config.json", MISTAKE);
    loading.reloader.request("retry");
    await expect(loading.started).rejects.toMatchObject({ exitCode: 2 });
  });

  test("ends no start when a change brings it, and the next change mends it", async () => {
    const { folder, log, loading, isStarted } = await waiting();
    await folder.write("config.json", MISTAKE);
    loading.reloader.request("change");
    await expect.poll(() => loading.reloader.last()?.failure?.exitCode).toBe(2);
    expect(log).toHaveBeenLastCalledWith(
      "error",
      "load_failed",
      expect.stringMatching(/Serves nothing yet, and tries again after SIGHUP or a change of the file$/),
      expect.objectContaining({ reason: "change" }),
    );
    expect(isStarted()).toBe(false);
    const publicKey = await folder.addKey("op.pem");
    await folder.write("config.json", { issuer: "https://op.example", keys: [{ keyId: "b", publicKey }] });
    loading.reloader.request("change");
    await loading.started;
    expect(loading.live.published()?.active.keyId).toBe("b");
  });

  test("is told when a set is served, also by a later try", async () => {
    const { folder, log, loading } = await waiting();
    const publicKey = await folder.addKey("op.pem");
    await folder.write("config.json", { issuer: "https://op.example", keys: [{ keyId: "b", publicKey }] });
    loading.reloader.request("retry");
    await loading.started;
    await folder.write("config.json", MISTAKE);
    loading.reloader.request("retry");
    await expect.poll(() => loading.reloader.last()?.failure?.exitCode).toBe(2);
    expect(log).toHaveBeenLastCalledWith(
      "error",
      "load_failed",
      expect.stringContaining("Serves what it had"),
      expect.objectContaining({ reason: "retry" }),
    );
    expect(loading.live.published()?.active.keyId).toBe("b");
  });
});
