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
