import { afterEach, expect, test, vi } from "vitest";
import { createKeyBook } from "../../src/serve/live/key-book.ts";
import { createLive, type Serving } from "../../src/serve/live/serving.ts";
import { collectMetrics } from "../../src/serve/metrics/collect.ts";
import { createCounters } from "../../src/serve/metrics/counters.ts";
import type { ServerState } from "../../src/serve/state.ts";
import { statusPage } from "../../src/serve/status/page.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { createKeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

afterEach(() => void vi.useRealTimers());

test("with a clock before the first date, the set before stays, and everything that shows it works", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-05-01T00:00:00Z") });
  await using folder = await createKeyFolder();
  const publicKey = await folder.addKey("op.pem");
  const entries = [
    { keyId: "a", publicKey, announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" },
  ];
  const keys = { maxTokenLifetimeSeconds: 60, entries };
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys });
  const context = recordingContext(folder.path);
  const onError = vi.fn<(error: unknown) => void>();
  const live = createLive(
    createKeyBook(context, () => undefined),
    { onError },
  );
  expect(live.published()).toBeUndefined();
  expect(live.isRotationActive()).toBe(false);
  const { endpoint } = await live.adopt(await loadConfig(context, undefined), false);
  const before = endpoint.respond("GET");
  vi.setSystemTime(new Date("2025-01-01T00:00:00Z"));
  expect(endpoint.respond("GET")).toEqual(before);
  // Once for the set, once for its lifetime in caches.
  expect(onError).toHaveBeenCalledTimes(2);
  expect(live.published()?.active.keyId).toBe("a");
  expect(live.nextChange()).toBeNull();
  expect(live.isRotationActive()).toBe(false);
  const state: ServerState = {
    version: "1",
    configName: "signpost.config.json",
    startedAt: new Date(),
    live,
    reloader: { last: () => undefined },
    counters: createCounters(),
    pathname: "/jwks",
    isStopping: false,
    listeners: {},
  };
  expect(statusPage(state, new Date()).text).toContain("<code>a</code>");
  expect(collectMetrics(state).map(({ name }) => name)).toContain("signpost_jwks_key_info");
});

test("the next change is the one of the schedule, and a set without one has none", async () => {
  await using folder = await createKeyFolder();
  const publicKey = await folder.addKey("op.pem");
  const context = recordingContext(folder.path);
  const live = createLive(
    createKeyBook(context, () => undefined),
    {},
  );
  expect(live.nextChange()).toBeNull();
  const adopt = async (keys: unknown): Promise<Serving> => {
    await folder.write("signpost.config.json", { issuer: "https://op.example", keys });
    return live.adopt(await loadConfig(context, undefined), false);
  };
  const [start, later] = ["2026-01-01T00:00:00Z", "2999-01-01T00:00:00Z"];
  const { segments } = await adopt({
    maxTokenLifetimeSeconds: 60,
    entries: [
      { keyId: "a", publicKey, announcedFrom: start, activeFrom: start },
      {
        keyId: "b",
        publicKey: await folder.addKey("next.pem"),
        announcedFrom: later,
        activeFrom: "2999-02-01T00:00:00Z",
      },
    ],
  });
  expect(live.nextChange()).toEqual(new Date(later));
  expect(segments[0]?.until).toBe(Date.parse(later));
  await adopt([{ keyId: "a", publicKey }]);
  expect(live.nextChange()).toBeNull();
});
