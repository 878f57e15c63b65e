import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { BIN } from "../support/run-cli.ts";
import { get, openRaw, statuses } from "./support/raw.ts";
import { startReady, type Served } from "./support/serve.ts";

// Clients that do what they should not, over raw sockets.

let folder: KeyFolder;
let served: Served;

beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addKey("op.pem");
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys: [{ signer: "local:op.pem" }] });
  served = await startReady([], { cwd: folder.path });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

describe("what is not HTTP gets 400 without a word of it", () => {
  test.each([
    ["garbage", "\u0016\u0003\u0001<script>\r\n\r\n"],
    ["a method that does not exist", "FROB /jwks HTTP/1.1\r\nHost: op\r\n\r\n"],
    ["no host", "GET /jwks HTTP/1.1\r\n\r\n"],
    ["a line without end of the header", "GET /jwks HTTP/1.1\r\nHost: op\r\nevil header\r\n\r\n"],
    ["two lengths", "POST /jwks HTTP/1.1\r\nHost: op\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    [
      "a length and chunks",
      "POST /jwks HTTP/1.1\r\nHost: op\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a bare line feed", "GET /jwks HTTP/1.1\nHost: op\n\n"],
  ])("%s", async (_name, bytes) => {
    const raw = await openRaw(served.keySet, bytes);
    const answer = await raw.closed();
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n/);
    expect(answer).not.toMatch(/script|FROB|evil|PRI/);
  });

  test("after a good request, whose response comes first", async () => {
    const raw = await openRaw(served.keySet, `${get(served.keySet)}${get(served.keySet)}nonsense\r\n\r\n`);
    expect(statuses(await raw.closed())).toEqual([200, 200, 400]);
  });
});

test("headers above 8 KiB get 431", async () => {
  const before = await served.metric('signpost_http_refused_total{port="public",reason="too_large"}');
  const many = await openRaw(served.keySet, get(served.keySet, `X-Big: ${"a".repeat(9000)}`));
  expect(statuses(await many.closed())).toEqual([431]);
  const path = await openRaw(served.keySet, `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: op\r\n\r\n`);
  expect(statuses(await path.closed())).toEqual([431]);
  expect(await served.metric('signpost_http_refused_total{port="public",reason="too_large"}')).toBe((before ?? 0) + 2);
});

test("pipelined requests are answered in their order", async () => {
  const { origin } = new URL(served.keySet);
  const requests = [
    get(served.keySet),
    get(`${origin}/x`),
    get(served.keySet, "If-None-Match: *"),
    get(served.keySet, "Connection: close"),
  ];
  const raw = await openRaw(served.keySet, requests.join(""));
  expect(statuses(await raw.closed())).toEqual([200, 404, 304, 200]);
});

test.each([
  ["of the simplest kind", get],
  ["that expect something", (url: string) => get(url, "Expect: the-unexpected")],
])("thousands of requests %s at once end their connections, and others are answered meanwhile", async (_kind, one) => {
  const flood = one(served.keySet).repeat(5000);
  const sample = 'signpost_http_refused_total{port="public",reason="pipelined"}';
  const before = (await served.metric(sample)) ?? 0;
  const clients = await Promise.all(Array.from({ length: 20 }, () => openRaw(served.keySet)));
  // They read nothing.
  for (const { socket } of clients) socket.pause().write(flood);
  const other = await openRaw(served.keySet, get(served.keySet, "Connection: close"));
  expect(statuses(await other.closed())).toEqual([200]);
  await Promise.all(clients.map(({ socket, closed }) => socket.resume() && closed()));
  expect(await served.metric(sample)).toBe(before + 20);
});

test("a client that closes its half still gets its response", async () => {
  const raw = await openRaw(served.keySet, "", { allowHalfOpen: true });
  raw.socket.end(get(served.keySet));
  expect(statuses(await raw.closed())).toEqual([200]);
});

test("a request in pieces is answered when it is whole", async () => {
  const raw = await openRaw(served.keySet);
  for (const piece of get(served.keySet, "Connection: close").match(/.{1,9}/gs) ?? []) {
    raw.socket.write(piece);
    await new Promise(setImmediate);
  }
  expect(statuses(await raw.closed())).toEqual([200]);
});

test("the body of a GET means nothing, and the connection goes on after it", async () => {
  const body = "x".repeat(5000);
  const raw = await openRaw(
    served.keySet,
    `${get(served.keySet, `Content-Length: ${body.length}`)}${body}${get(served.keySet, "Connection: close")}`,
  );
  expect(statuses(await raw.closed())).toEqual([200, 200]);
});

test("a body without end gets its response, and then its connection ends", async () => {
  const raw = await openRaw(served.keySet, get(served.keySet, "Transfer-Encoding: chunked"));
  const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
  const flood = setInterval(() => raw.socket.write(chunk), 1);
  expect(statuses(await raw.closed())).toEqual([200]);
  clearInterval(flood);
});

test("HTTP/1.0 is answered, and its connection ends", async () => {
  const raw = await openRaw(served.keySet, `GET ${new URL(served.keySet).pathname} HTTP/1.0\r\n\r\n`);
  const answer = await raw.closed();
  expect(statuses(answer)).toEqual([200]);
  expect(answer).toContain("Connection: close\r\n");
});

test.each([
  "Upgrade: websocket\r\nConnection: Upgrade",
  "Upgrade: h2c\r\nConnection: Upgrade",
  "Expect: 100-continue",
  "Expect: 1",
])("%j changes nothing", async (headers) => {
  const raw = await openRaw(served.keySet, get(served.keySet, headers));
  expect(await raw.until('{"keys":')).toContain("HTTP/1.1 200 OK");
  raw.socket.destroy();
});

test("CONNECT, an absolute target and * are no way to another host", async () => {
  const { host, pathname } = new URL(served.keySet);
  const tunnel = await openRaw(served.keySet, "CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: 10.0.0.1:80\r\n\r\n");
  expect(statuses(await tunnel.closed()).filter((status) => status < 400)).toEqual([]);
  const absolute = await openRaw(
    served.keySet,
    `GET http://${host}${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  );
  expect(statuses(await absolute.closed())).toEqual([200]);
  const star = await openRaw(served.keySet, "OPTIONS * HTTP/1.1\r\nHost: op\r\nConnection: close\r\n\r\n");
  expect(statuses(await star.closed())).toEqual([404]);
});

test.concurrent("slow headers get 408, and are counted", async () => {
  const raw = await openRaw(served.keySet, "GET /jwks HTTP/1.1\r\nHost: op\r\nX-Slow: ");
  const drip = setInterval(() => raw.socket.write("a"), 200);
  const silent = await openRaw(served.keySet);
  expect(statuses(await raw.closed())).toEqual([408]);
  clearInterval(drip);
  expect(statuses(await silent.closed())).toEqual([408]);
  expect(await served.metric('signpost_http_refused_total{port="public",reason="timeout"}')).toBe(2);
});

test.concurrent("10,000 idle connections do not keep others out, and the oldest of too many makes room", async () => {
  const sockets: Socket[] = [];
  await using full = await startReady(["--max-connections", "10000"], { cwd: folder.path });
  const { hostname, port } = new URL(full.keySet);
  for (let batch = 0; batch < 20; batch += 1) {
    const opened = Array.from({ length: 500 }, () =>
      connect({ host: hostname, port: Number(port) }).on("error", () => undefined),
    );
    await Promise.all(opened.map((socket) => once(socket, "connect")));
    // Idle connections that have been used live longest.
    for (const socket of opened) socket.resume().write(get(full.keySet));
    sockets.push(...opened);
  }
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => openRaw(full.keySet, get(full.keySet, "Connection: close"))),
  );
  for (const answer of answers) expect(statuses(await answer.closed())).toEqual([200]);
  expect(await full.metric('signpost_http_evicted_total{port="public"}')).toBeGreaterThanOrEqual(1);
  expect(await full.ask("/readyz")).toEqual({ status: 200, text: "ok\n" });
  for (const socket of sockets) socket.destroy();
});

test.concurrent("with few open files allowed, more connections than that do not keep others out", async () => {
  const script = `ulimit -n 300 && exec "$0" "$@"`;
  const args = ["-c", script, process.execPath, BIN, "serve", "--port", "0", "--admin-port", "0", "--json"];
  const child = spawn("sh", args, { cwd: folder.path, stdio: ["ignore", "pipe", "ignore"] });
  const [line] = await once(createInterface(child.stdout), "line");
  const { keySet, admin } = JSON.parse(String(line)) as Pick<Served, "keySet" | "admin">;
  await expect.poll(async () => (await fetch(`${admin}/readyz`)).status).toBe(200);
  const idle = await Promise.all(Array.from({ length: 500 }, () => openRaw(keySet)));
  const answer = await openRaw(keySet, get(keySet, "Connection: close"));
  expect(statuses(await answer.closed())).toEqual([200]);
  expect((await fetch(`${admin}/livez`)).status).toBe(200);
  for (const { socket } of idle) socket.destroy();
  child.kill();
  await once(child, "close");
});

// The last one: what the others did has no effect.
test("after all of that, it serves, and has logged nothing about clients", async () => {
  expect((await fetch(served.keySet)).status).toBe(200);
  expect(served.lines.map(({ event }) => event)).toEqual(["loaded", "keys"]);
});
