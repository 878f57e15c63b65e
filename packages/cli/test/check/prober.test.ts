import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { freePort } from "@signpost/test-backends/process";
import { describe, expect, it, test } from "vitest";
import { checkIssuer } from "../../src/check/check-issuer.ts";
import type { ProbeOptions } from "../../src/check/check-issuer.ts";
import { createProber } from "../../src/check/probe/prober.ts";
import { readTarget } from "../../src/check/probe/target.ts";
import { get } from "../../src/check/probe/requests.ts";
import { isPrivateAddress } from "../../src/network/private-address.ts";
import { changed, op } from "./support/op.ts";
import type { Op, Reply } from "./support/op.ts";
import { serve, serveRaw, serveTls } from "./support/serve.ts";

// The prober over real sockets. The rules have tests of their own.

const OPTIONS: ProbeOptions = {
  isStrict: false,
  isHttpAllowed: false,
  timeoutMs: 5000,
  signal: new AbortController().signal,
};

const checkUrl = (url: string, options: ProbeOptions): ReturnType<typeof checkIssuer> =>
  checkIssuer(readTarget(url, false), [], options);

async function broken(url: string, options: Partial<ProbeOptions> = {}): Promise<Readonly<Record<string, string>>> {
  const { rows } = await checkUrl(url, { ...OPTIONS, ...options });
  return Object.fromEntries(
    rows
      .filter(({ verdict }) => verdict === "must" || verdict === "should")
      .map(({ rule, verdict }) => [rule, verdict]),
  );
}

const onSet =
  (change: (reply: Reply, request: Parameters<Op>[0]) => ReturnType<Op>) =>
  (metadata: Readonly<Record<string, string>>) =>
    changed(op({ metadata }), ({ url }) => url.includes("/jwks"), change);

test.each<readonly [string, Parameters<typeof serve>[0], Readonly<Record<string, string>>]>([
  ["nothing is wrong", undefined, {}],
  [
    "HEAD is refused",
    onSet((reply, { method }) => (method === "HEAD" ? { status: 405, headers: { allow: "GET" } } : reply)),
    { head: "must", "304-head": "must" },
  ],
  [
    "POST closes the connection",
    onSet((reply, { method }) => (method === "POST" ? { reason: "connection", detail: "" } : reply)),
    { method: "should" },
  ],
  ["there is no ETag", (metadata) => op({ metadata, headers: { etag: undefined } }), { etag: "should" }],
  [
    "the set is HTML",
    (metadata) => op({ metadata, text: "<!doctype html>", headers: { "content-type": "text/html" } }),
    { "media-type": "should", "jwks-json": "must" },
  ],
  ["the set is away", onSet(() => ({ reason: "connection", detail: "" })), { reachable: "must" }],
  [
    "the set has moved",
    onSet((reply, { url }) => (url.endsWith("?new") ? reply : { status: 308, headers: { location: "/jwks?new" } })),
    { redirect: "should" },
  ],
  [
    "the redirects never end",
    onSet(() => ({ status: 302, headers: { location: "/jwks" } })),
    { redirect: "should", reachable: "must" },
  ],
  [
    "two lines of Cache-Control disagree",
    (metadata) => op({ metadata, headers: { "cache-control": ["max-age=1", "max-age=2"] } }),
    { lifetime: "must" },
  ],
])("%s", async (_name, make, expected) => {
  const server = await serve(make);
  await expect(broken(server.origin)).resolves.toEqual(expected);
});

test("every request is sent as relying parties send it, without a credential, and none that could change something", async () => {
  const server = await serve();
  await checkUrl(server.origin, { ...OPTIONS, isStrict: true });
  const methods = new Set(server.requests.map(({ method }) => method));
  expect([...methods].toSorted()).toEqual(["GET", "HEAD", "OPTIONS", "PATCH", "POST"]);
  for (const { headers } of server.requests) {
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(["authorization"]));
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(["cookie"]));
    expect(headers).toMatchObject({
      host: new URL(server.origin).host,
      connection: "close",
      "user-agent": "signpost-check",
    });
  }
  expect(server.requests.length).toBeLessThan(25);
});

describe("TLS", () => {
  it("a self-signed certificate is a finding, and the set is checked all the same", async () => {
    const port = await serveTls(selfSignedCertificate("localhost"));
    const { rows } = await checkUrl(`https://localhost:${port}/jwks`, OPTIONS);
    const row = (rule: string): unknown => rows.find((one) => one.rule === rule);
    expect(row("certificate")).toMatchObject({
      verdict: "must",
      findings: [{ seen: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT") as string }],
    });
    expect(row("tls-version")).toMatchObject({ verdict: "ok", seen: "TLSv1.3" });
    expect(row("jwks-json")).toMatchObject({ verdict: "ok" });
  });

  it("a server that offers TLS 1.1 at most", async () => {
    const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    const port = await serveTls(selfSignedCertificate("localhost"), old);
    await expect(broken(`https://localhost:${port}/jwks`)).resolves.toEqual({
      reachable: "must",
      "tls-version": "must",
    });
  });

  it("a server that speaks no TLS", async () => {
    const { origin } = await serve();
    await expect(broken(`${origin.replace("http:", "https:")}/jwks`)).resolves.toEqual({ reachable: "must" });
  });
});

describe("a server that is no use", () => {
  it.each<readonly [string, Parameters<typeof serveRaw>[0], string]>([
    ["says nothing", () => undefined, "no complete answer in time"],
    ["sends one byte and stops", (socket) => void socket.write("H"), "no complete answer in time"],
    ["sends its body for ever", (socket) => drip(socket), "no complete answer in time"],
    ["closes at once", (socket) => void socket.destroy(), "no connection"],
    ["speaks another protocol", (socket) => void socket.end("220 mail.example ESMTP\r\n"), "the answer is not HTTP"],
    [
      "sends a head without end",
      (socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(70_000)}`),
      "the answer is not HTTP",
    ],
    [
      "cuts its body off",
      (socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"),
      "no connection",
    ],
  ])("%s", async (_name, onConnection, seen) => {
    const port = await serveRaw(onConnection);
    const { rows } = await checkUrl(`http://127.0.0.1:${port}/jwks`, { ...OPTIONS, timeoutMs: 300 });
    expect(rows.find(({ rule }) => rule === "reachable")).toMatchObject({
      verdict: "must",
      findings: [{ seen: expect.stringContaining(seen) as string }],
    });
  });

  it("is away", async () => {
    const report = await checkUrl(`http://127.0.0.1:${await freePort()}`, OPTIONS);
    expect(report).toMatchObject({ isOk: false, unreachable: "no connection (ECONNREFUSED)" });
  });

  it("switches to a protocol that was not asked for", async () => {
    const port = await serveRaw((socket) => {
      socket.once("data", () =>
        socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
      );
    });
    const { rows } = await checkUrl(`http://127.0.0.1:${port}/jwks`, OPTIONS);
    expect(rows.find(({ rule }) => rule === "reachable")?.findings).toMatchObject([
      { seen: "the answer is not HTTP (HPE_UNEXPECTED_UPGRADE)" },
    ]);
  });

  it("sends more than any relying party reads", async () => {
    const server = await serve((metadata) => op({ metadata, text: `{"keys":[${" ".repeat(3_000_000)}]}` }));
    await expect(broken(server.jwksUri)).resolves.toMatchObject({ "jwks-json": "must" });
  });
});

function drip(socket: Parameters<Parameters<typeof serveRaw>[0]>[0]): void {
  socket.write("HTTP/1.1 200 OK\r\n\r\n");
  const timer = setInterval(() => socket.write(" "), 20);
  socket.on("close", () => clearInterval(timer));
}

describe("where the prober does not go", () => {
  const probing = { ...OPTIONS, maxBytes: 1000 };

  it("plain HTTP to another host, unless told", async () => {
    await expect(createProber("http://op.example", probing).ask(get("http://op.example/jwks"))).resolves.toMatchObject({
      kind: "no-answer",
      reason: "not-allowed",
    });
  });

  it("another scheme that a document names", async () => {
    await expect(createProber("https://op.example", probing).ask(get("file:///etc/passwd"))).resolves.toMatchObject({
      reason: "not-allowed",
    });
  });

  it("a private address that a document of the Internet names: nothing is sent", async () => {
    const inside = await serve();
    const outside = createProber("https://op.example", probing);
    await expect(outside.ask(get(inside.jwksUri))).resolves.toMatchObject({
      reason: "not-allowed",
      detail: expect.stringContaining("private") as string,
    });
    expect(inside.requests).toEqual([]);
  });

  it.each(["127.0.0.1", "localhost"])("nor is a connection opened to %s", async (host) => {
    let connections = 0;
    const port = await serveRaw(() => {
      connections += 1;
    });
    const outside = createProber("https://op.example", probing);
    await expect(outside.ask(get(`https://${host}:${port}/jwks`))).resolves.toMatchObject({ reason: "not-allowed" });
    expect(connections).toBe(0);
  });

  it("but a private address that a document of a private address names", async () => {
    const [one, other] = [await serve(), await serve()];
    const prober = createProber(one.origin, probing);
    await prober.ask(get(one.jwksUri));
    await expect(prober.ask(get(other.jwksUri))).resolves.toMatchObject({ status: 200 });
  });

  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "169.254.169.254",
    "100.64.0.1",
    "::1",
    "fe80::1%eth0",
    "fd00::1",
    "::ffff:10.0.0.1",
    "168.63.129.16",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::a00:1",
    "2002:a00:1::1",
    "2001:0:a00:1::1",
    "2606:4700::5efe:10.0.0.1",
    "::10.0.0.1",
    "::ffff:0:1.1.1.1",
    "2606:4700::200:5efe:1.1.1.1",
    "198.51.100.1",
    "240.0.0.1",
    "fec0::1",
    "100::1",
    "2001:db8::1",
    "5f00::1",
    "ff02::1",
    "",
    "op.example",
  ])("%s is private", (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.each([
    "1.1.1.1",
    "172.32.0.1",
    "2606:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::1.1.1.1",
    "2606:4700::5eff:101:101",
    "2606:4700:1:2:400:5efe:101:101",
  ])("%s is public", (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });
});

test.each([
  ["a body after HEAD", "HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", 2],
  ["a body after a 304", "GET", "HTTP/1.1 304 Not Modified\r\n\r\n{}", 2],
  [
    "no body after HEAD, but an interim answer before it",
    "HEAD",
    "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    0,
  ],
  ["no body after HEAD", "HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", 0],
])("%s is seen", async (_name, method, answer, strayBytes) => {
  const port = await serveRaw((socket) => void socket.once("data", () => socket.end(answer)));
  const url = `http://127.0.0.1:${port}/jwks`;
  const prober = createProber(url, { ...OPTIONS, maxBytes: 1000 });
  await expect(prober.ask({ method, url, headers: {} })).resolves.toMatchObject({ kind: "answer", strayBytes });
});

test("the caller's signal ends everything", async () => {
  const port = await serveRaw(() => undefined);
  const controller = new AbortController();
  const checking = checkUrl(`http://127.0.0.1:${port}`, { ...OPTIONS, signal: controller.signal });
  controller.abort(new Error("stopped"));
  await expect(checking).rejects.toThrow("stopped");
});
