import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { Redis as RedisServer } from "@signpost/test-backends/redis";
import { startRedis } from "@signpost/test-backends/redis";
import { createRedisReplayStore, createStaticKeySet, verifyClientAssertion } from "@signpost/verify";
import type { RedisClientLike } from "@signpost/verify";
import { Redis } from "ioredis";
import { createClient, createCluster, createSentinel } from "redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CLIENTS = {
  async redis(url: string) {
    const client = createClient({ url });
    client.on("error", () => {});
    await client.connect();
    return Object.assign(client, { end: () => client.destroy() });
  },
  async ioredis(url: string) {
    const client = new Redis(url);
    client.on("error", () => {});
    return Object.assign(client, { end: () => client.disconnect() });
  },
} as const;

describe.each(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])("over %s", (library) => {
  async function client(url = server.url): Promise<RedisClientLike> {
    const made = await CLIENTS[library](url);
    onTestFinished(() => made.end());
    return made;
  }

  it("gives an id to the first alone, until its time is over", async () => {
    const store = createRedisReplayStore(await client());
    await store.ready();
    const id = `${library}-once`;
    expect(await store.claim(id, 60_000)).toBe(true);
    expect(await store.claim(id, 60_000)).toBe(false);
    expect(await store.claim(`${id}-other`, 60_000)).toBe(true);
    const short = `${library}-short`;
    expect(await store.claim(short, 100)).toBe(true);
    // Redis keeps the time; how soon this process looks again is the machine's affair.
    await expect.poll(() => store.claim(short, 60_000), { timeout: 20_000 }).toBe(true);
    expect(await store.claim(short, 60_000)).toBe(false);
  });

  it("keeps prefixes apart, and every key expires", async () => {
    const first = createRedisReplayStore(await client(), { keyPrefix: `${library}:one:` });
    const second = createRedisReplayStore(await client(), { keyPrefix: `${library}:two:` });
    expect(await first.claim("id", 60_000)).toBe(true);
    expect(await second.claim("id", 60_000)).toBe(true);
    const probe = new Redis(server.url);
    onTestFinished(() => probe.disconnect());
    for (const key of await probe.keys("*")) expect(await probe.pttl(key)).toBeGreaterThan(0);
  });

  it("refuses an assertion while Redis is down, and is not ready", async () => {
    const down = await startRedis();
    onTestFinished(() => down.stop());
    const store = createRedisReplayStore(await client(down.url), { timeoutMs: 1_000 });
    await store.ready();
    const key = testKey("k");
    const now = Math.floor(Date.now() / 1000);
    const assertion = (jti: string): Promise<string> =>
      key.token({ iss: "client", sub: "client", aud: "https://op.example", exp: now + 60, jti });
    const verify = async (jwt: string): Promise<unknown> =>
      verifyClientAssertion(jwt, {
        issuer: "https://op.example",
        keysOf: () => createStaticKeySet({ keys: [key.jwk] }),
        replayStore: store,
      });
    const once = await assertion("1");
    await expect(verify(once)).resolves.toMatchObject({ clientId: "client" });
    await expect(verify(once)).rejects.toMatchObject({ code: "replayed" });
    await down.stopServer();
    await expect(verify(await assertion("2"))).rejects.toMatchObject({ code: "replay_store_unavailable" });
    await expect(verify(once)).rejects.toMatchObject({ code: "replay_store_unavailable" });
    await expect(store.ready()).rejects.toMatchObject({ code: "replay_store_unavailable", transient: true });
  });

  it("is not ready if Redis answers but stores no id, and says why", async () => {
    const broken = await startRedis();
    onTestFinished(() => broken.stop());
    const store = createRedisReplayStore(await client(broken.url));
    const operator = new Redis(broken.url);
    onTestFinished(() => operator.disconnect());
    const refused = (code: string): unknown =>
      expect.objectContaining({
        name: "VerifyError",
        code: "replay_store_unavailable",
        transient: true,
        message: `Redis cannot store ids: ${code}`,
        cause: expect.any(Error),
      });
    await operator.replicaof("127.0.0.1", 1);
    await expect(store.ready()).rejects.toEqual(refused("READONLY"));
    await expect(store.claim(`${library}-replica`, 60_000)).rejects.toEqual(refused("READONLY"));
    await operator.replicaof("NO", "ONE");
    await operator.config("SET", "maxmemory", "1");
    await expect(store.ready()).rejects.toEqual(refused("OOM"));
    await operator.config("SET", "maxmemory", "0");
    await Promise.all([store.ready(), store.ready()]);
    expect(await store.claim(`${library}-replica`, 60_000)).toBe(true);
  });
});

// ioredis sends a command again if its connection closed before the reply, and Redis may have run it already.
it("an id is free for the claim whose reply was lost, and for no other", async () => {
  const proxy = await startProxy(server.url);
  const client = new Redis(proxy.url, { retryStrategy: () => 1 });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  const store = createRedisReplayStore(client, { timeoutMs: 20_000 });
  await store.ready();
  proxy.loseNextReply();
  expect(await store.claim("lost-reply", 60_000)).toBe(true);
  expect(proxy.connections()).toBe(2);
  expect(await store.claim("lost-reply", 60_000)).toBe(false);
});

it.each(["redis", "ioredis"] as const)("without an offline queue, the error of %s says why", async (library) => {
  const down = await startRedis();
  onTestFinished(() => down.stop());
  const offline = {
    redis: async (url: string) => {
      const client = createClient({ url, disableOfflineQueue: true });
      client.on("error", () => {});
      await client.connect();
      onTestFinished(() => client.destroy());
      return client;
    },
    ioredis: async (url: string) => {
      const client = new Redis(url, { enableOfflineQueue: false });
      client.on("error", () => {});
      onTestFinished(() => client.disconnect());
      await once(client, "ready");
      return client;
    },
  };
  const client = await offline[library](down.url);
  const store = createRedisReplayStore(client);
  await store.ready();
  const closed = once(client, library === "redis" ? "error" : "close");
  await down.stopServer();
  await closed;
  await expect(store.claim("offline", 60_000)).rejects.toMatchObject({
    code: "replay_store_unavailable",
    message: "Redis cannot store ids: the client is not connected",
  });
});

/** Passes bytes on, and can close a connection in place of the next reply. */
async function startProxy(target: string) {
  const { hostname, port } = new URL(target);
  const sockets: Socket[] = [];
  let count = 0;
  let losesNext = false;
  const proxy = createServer((near) => {
    count += 1;
    const far = connect(Number(port), hostname);
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.pipe(far);
    far.on("data", (reply) => {
      if (losesNext) near.destroy();
      else near.write(reply);
      losesNext = false;
    });
    near.on("close", () => far.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return {
    url: `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    connections: () => count,
    loseNextReply: () => {
      losesNext = true;
    },
  };
}

describe("two processes with the same jti", () => {
  it("10,000 times, exactly one wins", async () => {
    const racers = await Promise.all([racer("redis"), racer("ioredis")]);
    let wins = [0, 0];
    for (let round = 0; round < 100; round += 1) {
      const ids = Array.from({ length: 100 }, (_, index) => `race-${round}-${index}`);
      const [first, second] = await Promise.all(racers.map((process) => claim(process, ids)));
      ids.forEach((id, index) => {
        expect([id, [first?.[index], second?.[index]].filter((won) => won === true).length]).toEqual([id, 1]);
      });
      wins = [first, second].map((won, index) => (wins[index] ?? 0) + (won ?? []).filter(Boolean).length);
    }
    expect((wins[0] ?? 0) + (wins[1] ?? 0)).toBe(10_000);
    // Without both winning at times, it was no race.
    expect(Math.min(...wins)).toBeGreaterThan(0);
  });
});

async function racer(library: string): Promise<ChildProcess> {
  const script = fileURLToPath(new URL("../support/replay-racer.mjs", import.meta.url));
  const child = fork(script, [library, server.url], { execArgv: [] });
  onTestFinished(() => void child.kill());
  await once(child, "message");
  return child;
}

async function claim(process: ChildProcess, ids: readonly string[]): Promise<boolean[]> {
  const answer = once(process, "message");
  process.send(ids);
  const [won] = (await answer) as [boolean[]];
  return won;
}

it.each([
  ["cluster", createCluster({ rootNodes: [{ url: "redis://127.0.0.1:1" }] })],
  ["sentinel", createSentinel({ name: "op", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] })],
])("is not made of a %s of the package redis, whose commands have another form", (name, client) => {
  expect(() => createRedisReplayStore(client as never)).toThrow(
    expect.objectContaining({
      name: "ConfigurationError",
      argument: "client",
      message: expect.stringContaining(name),
    }),
  );
});
