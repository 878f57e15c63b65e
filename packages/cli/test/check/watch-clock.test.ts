import { setTimeout as pause } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { readTarget } from "../../src/check/probe/target.ts";
import { watch } from "../../src/check/watch/watch.ts";
import { EC_KEY, ED_KEY, op } from "./support/op.ts";
import { serve } from "./support/serve.ts";

it("a watch goes on after the wall clock was set back by an hour", async () => {
  const sets = [op(), op({ keys: [EC_KEY, ED_KEY] })];
  const server = await serve(() => (request) => (sets.shift() ?? op())(request));
  const wallClock = vi.spyOn(Date, "now");
  onTestFinished(() => wallClock.mockRestore());
  const options = { isStrict: false, isHttpAllowed: true, timeoutMs: 1000, intervalMs: 200 };
  const looks = watch(readTarget(server.jwksUri, true), { ...options, signal: AbortSignal.timeout(5000) });
  await looks.next();
  const next = looks.next();
  await pause(20);
  wallClock.mockImplementation(() => performance.timeOrigin + performance.now() - 3_600_000);
  const { value } = await next;
  expect(value?.events).toMatchObject([{ event: "announced", key: ED_KEY.kid }]);
  await looks.return();
});
