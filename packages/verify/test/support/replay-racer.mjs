// One of two processes that claim the same ids at the same time. Runs the compiled package, as an OP would.
// argv: "redis" or "ioredis", URL. Each message is a list of ids; the answer tells which were won.
import { createRedisReplayStore } from "@signpost/verify";
import { Redis } from "ioredis";
import { createClient } from "redis";

const [, , library, url] = process.argv;
const client = library === "redis" ? await createClient({ url }).connect() : new Redis(url);
const store = createRedisReplayStore(client, { timeoutMs: 30_000 });
await store.ready();

process.on("message", (ids) => {
  void Promise.all(ids.map((id) => store.claim(id, 60_000))).then((won) => process.send(won));
});
process.on("disconnect", () => process.exit());
process.send("ready");
