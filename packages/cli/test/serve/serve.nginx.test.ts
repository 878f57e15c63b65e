import { RECOMMENDED_CONF, startNginx } from "@signpost/test-backends/nginx";
import { expect, test } from "vitest";
import { createKeyFolder } from "../support/key-folder.ts";
import { startReady } from "./support/serve.ts";

test("nginx as a shared cache in front passes the bytes and headers on, and asks the server once", async () => {
  await using folder = await createKeyFolder();
  await folder.addKey("op.pem");
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys: [{ signer: "local:op.pem" }] });
  await using served = await startReady([], { cwd: folder.path });
  await using nginx = await startNginx({ conf: RECOMMENDED_CONF, upstreams: [Number(new URL(served.keySet).port)] });
  const direct = await fetch(served.keySet);
  const body = await direct.text();
  for (let count = 0; count < 5; count += 1) {
    const response = await fetch(`${nginx.origin}/jwks`);
    expect(await response.text()).toBe(body);
    for (const name of ["etag", "cache-control", "content-type"]) {
      expect(response.headers.get(name)).toBe(direct.headers.get(name));
    }
  }
  // One of the test, one of nginx.
  const sample = 'signpost_http_requests_total{port="public",route="jwks",method="GET",code="200"}';
  expect(await served.metric(sample)).toBe(2);
  const etag = direct.headers.get("etag") ?? "";
  // A client that asks the server itself: Node says no-cache here.
  expect((await fetch(`${nginx.origin}/jwks`, { headers: { "If-None-Match": etag } })).status).toBe(304);
  // The cache answers for what is there while the server is away.
  await served.stop();
  expect((await fetch(`${nginx.origin}/jwks`)).status).toBe(200);
});
