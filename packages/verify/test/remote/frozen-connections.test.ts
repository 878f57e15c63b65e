import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createClientKeySets, createPublicDispatcher, createRemoteKeySet } from "@signpost/verify";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { Agent } from "undici";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { testKey } from "../support/keys.ts";
import { fakeClock, origin, ROTATION_CACHE } from "../support/remote.ts";

// While a process is frozen, no timer closes its connections, and a firewall forgets them without a word.

const a = testKey("a");
const b = testKey("b");
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

/** Until the client takes a connection whose answer was read for one that it may use again. */
const idle = (): Promise<void> => pause(10);

afterEach(() => {
  vi.useRealTimers();
});

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

it("fetches the set of another client after a freeze, over the same connections", async () => {
  const server = await startCountingJwksServer(origin([a], ROTATION_CACHE));
  onTestFinished(() => server.stop());
  const { port, forget } = await firewall(Number(new URL(server.jwksUri).port));
  const clock = fakeClock();
  const keySets = createClientKeySets({
    allowInsecureLoopback: true,
    timeoutMs: 20_000,
    dispatcher: new Agent(),
    clock,
    now: clock.now,
  });
  const verify = async (client: string): Promise<unknown> =>
    keySets.keysOf(client, { jwksUri: `http://127.0.0.1:${port}/jwks` })({ alg: "ES256", kid: "a" });
  await verify("client-1");
  await idle();
  forget();
  clock.moveWallSeconds(tenMinutes);
  await verify("client-2");
  // Other connections from before the freeze may be dead too. Timers close them soon.
  await verify("client-3");
  clock.advanceSeconds(5);
  await verify("client-4");
  const sent = server.requests.map(({ headers }) => headers["connection"]);
  expect(sent).toEqual(["keep-alive", "close", "close", "keep-alive"]);
});

it("fetches the sets of clients after a freeze, however many connections of the address guard are dead", async () => {
  const server = await startCountingJwksServer(origin([a], ROTATION_CACHE));
  onTestFinished(() => server.stop());
  const { port, forget } = await firewall(Number(new URL(server.jwksUri).port));
  const clock = fakeClock();
  const dispatcher = createPublicDispatcher({ allowSubnets: ["127.0.0.0/8"] });
  onTestFinished(() => dispatcher.close());
  const keySets = createClientKeySets({ allowInsecureLoopback: true, dispatcher, clock, now: clock.now });
  const verify = async (client: string): Promise<unknown> =>
    keySets.keysOf(client, { jwksUri: `http://127.0.0.1:${port}/jwks` })({ alg: "ES256", kid: "a" });
  await Promise.all(["client-1", "client-2", "client-3", "client-4"].map(verify));
  await idle();
  forget();
  clock.moveWallSeconds(tenMinutes);
  await verify("client-1");
  await verify("client-5");
  expect(server.requests).toHaveLength(6);
});

it.each([
  ["of one dispatcher", { dispatcher: new Agent() }],
  ["of undici", {}],
])("fetches another set after a freeze, over the connections %s", async (_name, connections) => {
  const server = await startCountingJwksServer(origin([a], ROTATION_CACHE));
  onTestFinished(() => server.stop());
  const { port, forget } = await firewall(Number(new URL(server.jwksUri).port));
  const verify = async (path: string): Promise<unknown> =>
    createRemoteKeySet(`http://127.0.0.1:${port}${path}`, {
      allowInsecureLoopback: true,
      timeoutMs: 20_000,
      ...connections,
    })({ alg: "ES256", kid: "a" });
  await verify("/jwks");
  await idle();
  forget();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + tenMinutes * 1000 });
  await verify("/jwks");
  expect(server.requests.at(-1)?.headers["connection"]).toBe("close");
});

it.each([
  ["node:http", {}],
  ["a dispatcher", { dispatcher: new Agent() }],
])(
  "finds a new key right after a freeze: no second request over %s meets a dead connection",
  async (_name, options) => {
    // Only the refetch for the new kid brings its key.
    const server = await startCountingJwksServer((request) => {
      const isForced = request.headers["cache-control"] === "no-cache";
      return origin(isForced ? [a, b] : [a], ROTATION_CACHE)(request);
    });
    onTestFinished(() => server.stop());
    const { port, forget } = await firewall(Number(new URL(server.jwksUri).port));
    const clock = fakeClock();
    const url = `http://127.0.0.1:${port}/jwks`;
    const keySet = createRemoteKeySet(url, { allowInsecureLoopback: true, clock, now: clock.now, ...options });
    await keySet.preload();
    await idle();
    forget();
    clock.moveWallSeconds(tenMinutes);
    await expect(keySet({ alg: "ES256", kid: "b" })).resolves.toBeDefined();
    expect(keySet.stats()).toMatchObject({ notModified: 1, updated: 2, failed: 0 });
  },
);
