import { readFile } from "node:fs/promises";
import { createClient } from "redis";
import { openSigner } from "@signpost/core";
import { awsKms } from "@signpost/aws-kms";
import { local } from "@signpost/local";
import { createMemoryReplayStore, createRedisReplayStore } from "@signpost/verify";
import { startOp } from "./op.ts";
import { openSchedule, type Schedule } from "./schedule.ts";
import { readSettings } from "./settings.ts";
import type { Clients } from "./token-endpoint.ts";

const { issuer, port, scheduleFile, clientsFile, redisUrl, drainMs } = readSettings(process.env);
const scheduleSettings = JSON.parse(await readFile(scheduleFile, "utf8")) as Schedule;
const clients = JSON.parse(await readFile(clientsFile, "utf8")) as Clients;

const redis = redisUrl === undefined ? undefined : createClient({ url: redisUrl, disableOfflineQueue: true });
// Without a listener, a lost connection would end the process. While Redis is unreachable, the store rejects assertions.
redis?.on("error", () => console.error(JSON.stringify({ level: "error", code: "redis" })));
await redis?.connect();

const op = await startOp({
  issuer,
  port,
  opened: await openSchedule(scheduleSettings, (uri, policy) => openSigner(uri, [awsKms(), local()], { policy })),
  tokenLifetimeSeconds: scheduleSettings.maxTokenLifetimeSeconds,
  clients,
  replayStore: redis === undefined ? createMemoryReplayStore() : createRedisReplayStore(redis),
  drainMs,
});
console.log(`listening on ${op.port}`);

process.once("SIGTERM", () => {
  void op.close().then(() => redis?.close());
});
