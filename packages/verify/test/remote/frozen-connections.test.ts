import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createRemoteKeySet } from "@signpost/verify";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";
import { fakeClock, origin, ROTATION_CACHE } from "../support/remote.ts";

// While a process is frozen, no timer closes its connections, and a firewall forgets them without a word.

const a = testKey("a");
const tenMinutes = 600;

/** A firewall in front of a server. `forget` makes all its connections silent. */
async function firewall(port: number): Promise<{ readonly port: number; forget(): void }> {
  const pairs = new Set<readonly [client: Socket, server: Socket]>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.pipe(upstream);
    upstream.pipe(client);
    pairs.add([client, upstream]);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    forget: () => {
      for (const [client, upstream] of pairs) {
        client.unpipe(upstream);
        upstream.unpipe(client);
        client.resume();
        upstream.resume();
      }
    },
  };
}

it("verifies after each freeze, although the kept connection is dead", async () => {
  const server = await startCountingJwksServer(origin([a], ROTATION_CACHE));
  onTestFinished(() => server.stop());
  const { port, forget } = await firewall(Number(new URL(server.jwksUri).port));
  const clock = fakeClock();
  const keySet = createRemoteKeySet(`http://127.0.0.1:${port}/jwks`, {
    allowInsecureLoopback: true,
    timeoutMs: 20_000,
    clock,
    now: clock.now,
  });
  await keySet({ alg: "ES256", kid: "a" });
  for (let freeze = 0; freeze < 4; freeze += 1) {
    forget();
    clock.moveWallSeconds(tenMinutes);
    await keySet({ alg: "ES256", kid: "a" });
  }
  expect(keySet.stats()).toMatchObject({ updated: 1, notModified: 4, failed: 0 });
  // Otherwise each freeze would find one more dead connection.
  expect(new Set(server.requests.slice(1).map(({ headers }) => headers["connection"]))).toEqual(new Set(["close"]));
});
