import { createPublicKey } from "node:crypto";
import { join } from "node:path";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { afterEach, expect, test, vi } from "vitest";
import { createLoading } from "../../src/serve/live/loading.ts";
import type { Log } from "../../src/serve/log.ts";
import { createCounters } from "../../src/serve/metrics/counters.ts";
import { createKeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

afterEach(() => void vi.useRealTimers());

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
