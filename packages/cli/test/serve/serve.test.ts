import { generateKeyPairSync, type JsonWebKey } from "node:crypto";
import { createJwksEndpoint } from "@signpost/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { runApp } from "../support/run-app.ts";
import { startReady, type Served } from "./support/serve.ts";

const ISSUER = "https://op.example/tenant";
const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 })
  .publicKey.export({ type: "spki", format: "pem" })
  .toString();
/** Headers of a connection, not of the response. */
const HOP = ["connection", "keep-alive", "date"];
let folder: KeyFolder;
let served: Served;
let keys: readonly JsonWebKey[];

beforeAll(async () => {
  folder = await createKeyFolder();
  keys = [await folder.addKey("op.pem"), await folder.addKey("op-0.pem")];
  await folder.write("signpost.config.json", {
    issuer: ISSUER,
    mountPrefix: "/oidc",
    endpoints: { jwks: "/keys" },
    keys: [
      { keyId: "sig-1", signer: "local:op.pem" },
      { keyId: "sig-0", publicKey: keys[1] },
    ],
    legacyVerificationKeys: [{ keyId: "rs-1", publicKey: RSA, alg: "RS256" }],
  });
  served = await startReady([], { cwd: folder.path });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** The endpoint of the library with the same keys. */
function reference(): ReturnType<typeof createJwksEndpoint> {
  const entries = keys.map((publicKey, index) => ({ keyId: `sig-${1 - index}`, publicKey: { ...publicKey } }));
  const [first, ...retiring] = entries;
  const signer = { uri: "local:", publicKey: first?.publicKey, sign: () => Promise.reject(new Error("not here")) };
  return createJwksEndpoint({
    issuer: ISSUER,
    mountPrefix: "/oidc",
    endpoints: { jwks: "/keys" },
    keys: [{ keyId: "sig-1", signer: signer as never }, ...retiring],
    legacyVerificationKeys: [{ keyId: "rs-1", publicKey: RSA, alg: "RS256" }],
  });
}

describe("the key set", () => {
  test.each([
    ["GET", undefined],
    ["HEAD", undefined],
    ["POST", undefined],
    ["OPTIONS", undefined],
    ["GET", "*"],
    ["HEAD", "*"],
    ["GET", 'W/"weak"'],
  ] as const)("answers %s with If-None-Match %s as the endpoint of the library does", async (method, ifNoneMatch) => {
    const expected = reference().respond(method, ifNoneMatch);
    const headers: Record<string, string> = ifNoneMatch === undefined ? {} : { "If-None-Match": ifNoneMatch };
    const response = await fetch(served.keySet, { method, headers, redirect: "manual" });
    expect(response.status).toBe(expected.status);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(expected.body ?? []));
    const sent = Object.fromEntries([...response.headers].filter(([name]) => !HOP.includes(name)));
    const lower = Object.entries(expected.headers).map(([name, value]) => [name.toLowerCase(), value]);
    expect(sent).toEqual(Object.fromEntries(lower));
  });

  test("is at its path only, and other paths say nothing about the host", async () => {
    expect(new URL(served.keySet).pathname).toBe("/tenant/oidc/keys");
    const { origin } = new URL(served.keySet);
    const paths = [
      "/",
      "/jwks",
      "/tenant/oidc/keys/",
      "/TENANT/oidc/keys",
      "//tenant/oidc/keys",
      "/metrics",
      "/readyz",
    ];
    for (const path of [...paths, "/.well-known/openid-configuration"]) {
      const response = await fetch(origin + path);
      expect([path, response.status, await response.text()]).toEqual([path, 404, "Not found\n"]);
      expect([...response.headers.keys()].toSorted()).toEqual([
        "cache-control",
        "connection",
        "content-length",
        "content-type",
        "date",
        "keep-alive",
        "x-content-type-options",
      ]);
    }
  });
});

test("the discovery fragment has the members that follow from the key set, with the algorithms of legacy keys", async () => {
  const response = await fetch(served.discovery);
  expect(served.discovery).toBe(`${served.keySet}/discovery`);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(await response.json()).toEqual({
    issuer: ISSUER,
    jwks_uri: `${ISSUER}/oidc/keys`,
    id_token_signing_alg_values_supported: ["ES256", "RS256"],
  });
  const head = await fetch(served.discovery, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([
    200,
    response.headers.get("content-length"),
    "",
  ]);
  const post = await fetch(served.discovery, { method: "POST", body: "x" });
  expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

describe("the admin port", () => {
  test("has health, and 404 and 405 like the other", async () => {
    expect(await served.ask("/livez")).toEqual({ status: 200, text: "ok\n" });
    expect(await served.ask("/readyz")).toEqual({ status: 200, text: "ok\n" });
    expect(await served.ask("/tenant/oidc/keys")).toEqual({ status: 404, text: "Not found\n" });
    expect(await served.ask("/__proto__")).toEqual({ status: 404, text: "Not found\n" });
    const post = await fetch(`${served.admin}/readyz`, { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    const head = await fetch(`${served.admin}/metrics`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("answers no page that reached it under another name", async () => {
    const { port } = new URL(served.admin);
    const { request } = await import("node:http");
    const status = (host: string): Promise<number | undefined> =>
      new Promise((resolve) => {
        request({ host: "127.0.0.1", port, path: "/", headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).end();
      });
    expect(await Promise.all(["rebound.example", "[", `localhost:${port}`, "127.0.0.1"].map(status))).toEqual([
      421, 421, 200, 200,
    ]);
  });

  test("gives Prometheus its text format, with the keys and the ETag that are served", async () => {
    const response = await fetch(`${served.admin}/metrics`);
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await response.text();
    const names = text.matchAll(
      /^# HELP (\w+) .+\n# TYPE \1 (counter|gauge)\n((?:\1(?:\{\w+="(?:[^"\\\n]|\\["\\n])*"(?:,\w+="(?:[^"\\\n]|\\["\\n])*")*\})? [\d.e+-]+\n)*)/gm,
    );
    const metrics = [...names];
    // Nothing is left over.
    expect(metrics.map(([all]) => all).join("")).toBe(text);
    expect(metrics.every(([, name = "", type]) => (type === "counter") === name.endsWith("_total"))).toBe(true);
    const etag = (await fetch(served.keySet)).headers.get("etag");
    expect(text).toContain(`signpost_jwks_etag_info{etag=${JSON.stringify(etag)}} 1\n`);
    expect(text).toContain('signpost_jwks_keys{role="active"} 1\n');
    expect(text).toContain('signpost_jwks_key_info{kid="rs-1",role="legacy",alg="RS256",use="sig"} 1\n');
    expect(text).toContain("signpost_ready 1\n");
    // No time without a schedule.
    expect(text).not.toMatch(/^signpost_jwks_next_change_timestamp_seconds /m);
  });

  test("counts requests by route, method and status, with few values whatever clients send", async () => {
    const sample = 'signpost_http_requests_total{port="public",route="other",method="other",code="404"}';
    const before = (await served.metric(sample)) ?? 0;
    for (const method of ["PUT", "PROPFIND"]) await fetch(`${new URL(served.keySet).origin}/x-${method}`, { method });
    expect(await served.metric(sample)).toBe(before + 2);
    expect((await served.ask("/metrics")).text).not.toContain("PROPFIND");
  });
});

test("--cors and --match-weak-etags are the options of the endpoint", async () => {
  await using other = await startReady(["--cors", "--match-weak-etags"], { cwd: folder.path });
  const response = await fetch(other.keySet, { headers: { Origin: "https://app.example" } });
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
  const weak = await fetch(other.keySet, { headers: { "If-None-Match": `W/${response.headers.get("etag")}` } });
  expect(weak.status).toBe(304);
});

test.each([
  ["--port", "65536", "--port: expected a whole number, 0 to 65535, got 65536"],
  ["--admin-port", "1.5", "--admin-port: expected a whole number, 0 to 65535, got 1.5"],
  ["--max-connections", "0", "--max-connections: expected a whole number, 1 to 1000000, got 0"],
  ["--shutdown-delay", "-1", "--shutdown-delay: expected a number of seconds, 0 to 3600, got -1"],
])("%s %s is a mistake of usage", async (flag, value, message) => {
  expect(await runApp(["serve", `${flag}=${value}`], { cwd: folder.path })).toEqual({
    code: 2,
    stdout: "",
    stderr: `error ${message}\n`,
  });
});

test.each(["--port", "--admin-port", "--max-connections", "--shutdown-delay", "--shutdown-timeout"])(
  "%s with the empty text of a variable that is not set is a mistake of usage, and not 0",
  async (flag) => {
    const { code, stdout, stderr } = await runApp(["serve", flag, ""], { cwd: folder.path });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Expected a number, got an empty text");
  },
);

test.each(["--host", "--admin-host"])("%s with an empty text does not open a port to all networks", async (flag) => {
  for (const value of ["", " "]) {
    expect(await runApp(["serve", flag, value], { cwd: folder.path })).toEqual({
      code: 2,
      stdout: "",
      stderr: [
        `error ${flag}: expected an address, got an empty text`,
        `hint  Leave out ${flag} for this machine only, or name 0.0.0.0 for all its addresses`,
        "",
      ].join("\n"),
    });
  }
});
