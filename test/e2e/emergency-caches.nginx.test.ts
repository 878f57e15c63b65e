import { RECOMMENDED_CONF, startNginx } from "@signpost/test-backends/nginx";
import { createJwksEndpoint, createKeySet, type KeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "./support/ask.ts";
import { startLoopbackServer } from "./support/loopback-server.ts";

test("a request without cache refreshes only the nginx that it reaches, and a new nginx has no copy", async () => {
  const [stolen, fresh] = [await openLocalSigner(), await openLocalSigner()];
  let keys: KeySet = createKeySet([{ keyId: "stolen", signer: stolen }]);
  const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: () => keys });
  const op = await startLoopbackServer(endpoint.listener);
  onTestFinished(() => op.close());
  const start = async () => {
    const nginx = await startNginx({ conf: RECOMMENDED_CONF, upstreams: [Number(new URL(op.origin).port)] });
    onTestFinished(() => nginx.stop());
    return nginx;
  };
  const publishes = async (origin: string, headers = {}): Promise<boolean> =>
    (await ask(origin, { headers })).body.toString().includes("stolen");

  const [first, second] = [await start(), await start()];
  expect([await publishes(first.origin), await publishes(second.origin)]).toEqual([true, true]);
  keys = createKeySet([{ keyId: "fresh", signer: fresh }]);
  expect(await publishes(first.origin, { "Cache-Control": "no-cache" })).toBe(false);
  expect([await publishes(first.origin), await publishes(second.origin)]).toEqual([false, true]);
  const restarted = await start();
  expect(await publishes(restarted.origin)).toBe(false);
});
