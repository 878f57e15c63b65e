import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { ended } from "../support/run-cli.ts";
import { get, openRaw, statuses } from "./support/raw.ts";
import { startReady, startServe } from "./support/serve.ts";

let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addKey("op.pem");
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys: [{ signer: "local:op.pem" }] });
});
afterAll(() => folder[Symbol.asyncDispose]());

test.each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const)("%s ends it with exit code %i, and what was asked before is answered", async (signal, code) => {
  await using served = await startReady([], { cwd: folder.path });
  const idle = await openRaw(served.keySet, get(served.keySet));
  await idle.until('{"keys":');
  const begun = await openRaw(served.keySet, get(served.keySet).slice(0, -2));
  // The server has seen the beginning of the request: it is one of its connections.
  await expect.poll(() => served.metric('signpost_http_connections{port="public"}')).toBe(2);
  served.child.kill(signal);
  await served.logged("stopping");
  await idle.closed();
  begun.socket.write("\r\n");
  const answer = await begun.closed();
  expect(statuses(answer)).toEqual([200]);
  expect(answer).toContain("Connection: close");
  await ended(served.child);
  expect(served.child.exitCode).toBe(code);
  expect(served.lines.at(-1)?.event).toBe("stopped");
});

test("with a delay, it says that it is not ready, and serves on", async () => {
  await using served = await startReady(["--shutdown-delay", "30"], { cwd: folder.path });
  served.child.kill("SIGTERM");
  await served.logged("stopping");
  expect(await served.ask("/readyz")).toEqual({ status: 503, text: "stopping\n" });
  expect(await served.ask("/livez")).toEqual({ status: 200, text: "ok\n" });
  expect((await served.ask("/")).text).toContain("stopping");
  const response = await fetch(served.keySet);
  expect([response.status, response.headers.get("connection")]).toEqual([200, "close"]);
  // A second signal does not wait for the rest of the 30 seconds.
  expect(await served.stop("SIGINT")).toBeNull();
  expect(served.child.signalCode).toBe("SIGINT");
  expect(served.lines.some(({ event }) => event === "stopped")).toBe(false);
});

test("a client that never finishes its request is waited for as long as --shutdown-timeout says", async () => {
  await using served = await startReady(["--shutdown-timeout", "0.2"], { cwd: folder.path });
  const raw = await openRaw(served.keySet, "GET /jwks HTTP/1.1\r\n");
  await expect.poll(() => served.metric('signpost_http_connections{port="public"}')).toBe(1);
  expect(await served.stop()).toBe(143);
  expect(statuses(await raw.closed())).toEqual([]);
});

test("a closed pipe after the addresses stops nothing", async () => {
  await using served = await startServe([], { cwd: folder.path });
  served.child.stdout.destroy();
  await served.logged("keys");
  expect((await fetch(served.keySet)).status).toBe(200);
  expect(await served.stop()).toBe(143);
});

test("without a reader for its log it goes on", async () => {
  await using served = await startReady([], { cwd: folder.path });
  served.child.stderr.destroy();
  await folder.write("signpost.config.json", {
    issuer: "https://op.example",
    mountPrefix: "/moved",
    keys: [{ signer: "local:op.pem" }],
  });
  const moved = served.keySet.replace("/jwks", "/moved/jwks");
  await expect.poll(async () => (await fetch(moved)).status, { timeout: 10_000 }).toBe(200);
  expect(await served.stop()).toBe(143);
});
