// Serves the key set by every server of the runtime, until the gate asks it to stop.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http";
import { check, claims, done, handOver, load, rotating, runtime, settings, signAcross, tell } from "./lib.mjs";

const core = await load("core");
const { openLocalSigner } = await load("local");
/** @type {any[]} */
const signers = [];
for (const privateKey of settings.backend.keys) signers.push(await openLocalSigner({ privateKey }));
const { keys, rotate } = rotating(core, signers);
const endpoint = core.createJwksEndpoint({ issuer: "https://op.example", keys, cors: true });

await check("a rotation, while the event loop turns", async () => {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  turn();
  const token = (/** @type {number} */ index) => core.signJwt(keys, claims(index));
  const tokens = await signAcross(token, rotate, settings.tokens);
  isOver = true;
  handOver(tokens);
  // Each batch of calls waits for the thread pool at least once.
  assert.ok(turns > 10, `${turns} turns`);
});

await check("the context of a call stays with it, and each call is an event", async () => {
  const context = new AsyncLocalStorage();
  /** @type {unknown[]} */
  const seen = [];
  const note = () => void seen.push(context.getStore());
  subscribe(core.SIGN_CHANNEL, note);
  const calls = ["a", "b", "c"].map((store) =>
    context.run(store, async () => {
      await core.signJwt(keys, claims(store));
      return context.getStore();
    }),
  );
  assert.deepEqual(await Promise.all(calls), ["a", "b", "c"]);
  unsubscribe(core.SIGN_CHANNEL, note);
  assert.equal(seen.length, 3);
});

await check("a signer is closed when its scope ends", async () => {
  const signer = await openLocalSigner();
  await signer[Symbol.asyncDispose]();
  await assert.rejects(signer.sign(new Uint8Array(32)), { code: "closed" });
});

await check("a deadline ends a call whose backend hangs", async () => {
  const [{ publicKey }] = signers;
  const hanging = { uri: "test:", publicKey, sign: () => new Promise(() => {}), close: async () => {} };
  const signer = core.guardSigner(hanging, { deadlineMs: 100, attemptTimeoutMs: 50, maxAttempts: 2 });
  await assert.rejects(signer.sign(new Uint8Array(32)), { code: "timeout", transient: true });
  await signer.close();
});

/** @type {(() => unknown)[]} */
const closers = [];
/** @type {Record<string, number>} */
const ports = {};

const server = createServer((req, res) => {
  if (endpoint.matches(req.url)) return endpoint.listener(req, res);
  res.writeHead(404).end();
  if (req.url === "/stop") void stop();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
ports["node:http"] = typeof address === "object" && address !== null ? address.port : 0;
closers.push(() => server.close());

const answer = (/** @type {Request} */ request) =>
  endpoint.matches(new URL(request.url).pathname) ? endpoint.fetch(request) : new Response(null, { status: 404 });
/** @type {any} */
const { Bun, Deno } = globalThis;
if (runtime === "bun") {
  const serving = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
  ports["Bun.serve"] = serving.port;
  closers.push(() => serving.stop());
} else if (runtime === "deno") {
  const serving = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, answer);
  ports["Deno.serve"] = serving.addr.port;
  closers.push(() => serving.shutdown());
}

const { etag } = core.serializeJwks(keys());
const expected = settings.requests.map((/** @type {{ method: string, headers: Record<string, string> }} */ request) => {
  const { status, headers, body } = endpoint.respond(
    request.method,
    request.headers["If-None-Match"]?.replace("ETAG", etag) ?? null,
    { origin: request.headers["Origin"] ?? null, requestMethod: null, requestHeaders: null },
  );
  return { status, headers, body: Buffer.from(body ?? "").toString("base64") };
});
tell({ ports, etag, expected });

async function stop() {
  for (const close of closers) await close();
  for (const signer of signers) await signer.close();
  done();
}
