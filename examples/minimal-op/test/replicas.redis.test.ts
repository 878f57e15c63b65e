import { expect, onTestFinished, test } from "vitest";
import { startRedis } from "@signpost/test-backends/redis";
import { filesFor, startProgram } from "./program.ts";
import { assertionOf, createClient, requestToken } from "./support.ts";

test("one replica refuses a client assertion that the other has accepted", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const client = await createClient();
  const replicas = await Promise.all([1, 2].map(() => startProgram(filesFor(client), { REDIS_URL: redis.url })));
  const assertion = await assertionOf(client);
  const statuses: number[] = [];
  for (const { url } of replicas) statuses.push((await requestToken(url, assertion)).status);
  const ends = await Promise.all(replicas.map((replica) => replica.stop()));
  expect(statuses).toEqual([200, 401]);
  expect(ends).toEqual([
    [0, null],
    [0, null],
  ]);
});

test("while Redis is away, a claim fails at once and does not wait in the client, which would make it later", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const client = await createClient();
  const replica = await startProgram(filesFor(client), { REDIS_URL: redis.url });
  onTestFinished(() => void replica.stop());
  await redis.stop();
  const assertions = await Promise.all(Array.from({ length: 5 }, () => assertionOf(client)));
  const waits: number[] = [];
  for (const assertion of assertions) {
    const startedAt = performance.now();
    expect((await requestToken(replica.url, assertion)).status).toBe(503);
    waits.push(performance.now() - startedAt);
  }
  // The store gives up a claim that waits after a second.
  expect(Math.min(...waits)).toBeLessThan(900);
});
