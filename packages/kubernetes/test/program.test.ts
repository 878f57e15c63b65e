import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmod, cp, mkdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { request } from "node:http";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runKubernetesSigner } from "@signpost/kubernetes";
import { claimsOf, ISSUER } from "./support/claims.ts";
import { connectTo, type KubeClient } from "./support/grpc-client.ts";
import { type PrivateFolder, privateFolder } from "./support/private-folder.ts";
import { BIN, type RunningSigner, startReady, startSigner } from "./support/run-signer.ts";

// The program from its configuration to its end.

let folder: PrivateFolder;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  folder = await privateFolder();
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
  await folder[Symbol.asyncDispose]();
});

async function keyFile(name: string): Promise<string> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const path = await folder.write(name, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  await chmod(path, 0o600);
  return `local:${path}`;
}

function configure(members: Readonly<Record<string, unknown>> = {}): Promise<string> {
  return folder.write("config.json", {
    issuer: ISSUER,
    socket: { path: folder.at("signer.sock") },
    maxTokenLifetimeSeconds: 3600,
    keys: [{ uri: "local:" }],
    admin: { port: 0 },
    ...members,
  });
}

async function start(
  members: Readonly<Record<string, unknown>> = {},
): Promise<Awaited<ReturnType<typeof startReady>> & { readonly client: KubeClient }> {
  const running = await startReady(await configure(members));
  const client = connectTo(folder.at("signer.sock"));
  cleanups.push(
    () => running[Symbol.asyncDispose](),
    () => client.close(),
  );
  return { ...running, client };
}

async function reload(running: RunningSigner, members: Readonly<Record<string, unknown>>): Promise<void> {
  await configure(members);
  running.child.kill("SIGHUP");
}

const kids = async (client: KubeClient): Promise<readonly string[]> =>
  (await client.fetchKeys()).keys.map(({ keyId }) => keyId);
const kidOf = ({ header }: { readonly header: string }): unknown =>
  JSON.parse(Buffer.from(header, "base64url").toString()).kid;

describe("the admin port", () => {
  test("says that it is ready, and counts the calls", async () => {
    const { ready, client } = await start();
    await client.sign(claimsOf());
    await client.sign(claimsOf({ iss: "other" })).catch(() => undefined);
    const ask = async (path: string): Promise<string> => (await fetch(`${String(ready["admin"])}${path}`)).text();
    expect(await ask("/livez")).toBe("ok");
    expect(await ask("/readyz")).toBe("ok");
    const metrics = await ask("/metrics");
    const [kid] = await kids(client);
    for (const line of [
      'signpost_kubernetes_calls_total{method="Sign",version="v1",code="ok"} 1',
      'signpost_kubernetes_calls_total{method="Sign",version="v1",code="wrong_issuer"} 1',
      "signpost_kubernetes_sign_seconds_count 1",
      'signpost_kubernetes_sign_seconds_bucket{le="+Inf"} 1',
      "signpost_kubernetes_ready 1",
      "signpost_kubernetes_keys_unopened 0",
      `signpost_kubernetes_key_info{kid="${kid}",role="active"} 1`,
      "signpost_kubernetes_config_last_load_successful 1",
    ]) {
      expect(metrics.split("\n")).toContain(line);
    }
  });

  test.each([
    ["/readyz", "GET", "attacker.example", 421],
    ["/readyz", "POST", "127.0.0.1", 405],
    ["/debug", "GET", "localhost:1", 404],
    ["/readyz?a=b", "HEAD", "[::1]", 200],
  ])("answers %s by %s for the host %s with %d", async (path, method, host, status) => {
    const { ready } = await start();
    const { port } = new URL(String(ready["admin"]));
    const answered = await new Promise<number | undefined>((resolve, reject) => {
      const asked = request({ port, path, method, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.once("error", reject);
      asked.end();
    });
    expect(answered).toBe(status);
  });
});

describe("SIGHUP", () => {
  test("takes other keys into use, and a key in common stays open", async () => {
    const [a, b] = [await keyFile("a.pem"), await keyFile("b.pem")];
    const running = await start({ keys: [{ keyId: "a", uri: a }] });
    await reload(running, {
      keys: [
        { keyId: "b", uri: b },
        { keyId: "a", uri: a },
      ],
    });
    await running.log.next("loaded");
    await running.log.next("loaded");
    expect(await kids(running.client)).toEqual(["b", "a"]);
    expect(kidOf(await running.client.sign(claimsOf()))).toBe("b");
  });

  const MISTAKES: readonly (readonly [what: string, members: object, message: string])[] = [
    ["an unknown member", { key: [] }, "key: unknown option; did you mean keys?"],
    ["a key that is not there", { keys: [{ uri: "local:/nowhere/key.pem" }] }, "ENOENT"],
    ["a kid for another key", { keys: [{ keyId: "sa", uri: "local:" }] }, "named another key"],
    ["another issuer", { issuer: "https://other.example" }, "issuer: changes only with a restart"],
    ["another socket", { socket: { path: "/run/s/s.sock" } }, "socket: changes only with a restart"],
    ["a shorter lifetime", { maxTokenLifetimeSeconds: 600 }, "maxTokenLifetimeSeconds: expected at least 3600"],
  ];
  test.each(MISTAKES)("keeps the configuration before with %s", async (_what, members, message) => {
    const a = await keyFile("a.pem");
    const keys = [{ keyId: "sa", uri: a }];
    const running = await start({ keys });
    await reload(running, { keys, ...members });
    expect((await running.log.next("load_failed")).message).toContain(message);
    expect(kidOf(await running.client.sign(claimsOf()))).toBe("sa");
    await reload(running, { keys, maxTokenLifetimeSeconds: 7200 });
    await running.log.next("loaded");
    await vi.waitFor(async () => {
      expect(await running.client.metadata()).toEqual({ maxTokenExpirationSeconds: 7200 });
    }, 10_000);
  });

  test("is served when it is ready, if it comes before the configuration is read", async () => {
    const before = process.listenerCount("SIGHUP");
    const events: unknown[] = [];
    const log = (line: string): void => void events.push(JSON.parse(line).event);
    const ending = new AbortController();
    const ended = runKubernetesSigner({ config: await configure(), signal: ending.signal, log });
    process.emit("SIGHUP");
    await vi.waitFor(() => expect(events).toEqual(["loaded", "ready", "loaded"]), 10_000);
    ending.abort();
    expect(await ended).toBe(0);
    expect(process.listenerCount("SIGHUP")).toBe(before);
  });

  test("loses no call", async () => {
    const [a, b] = [await keyFile("a.pem"), await keyFile("b.pem")];
    const entries = [
      { keyId: "a", uri: a },
      { keyId: "b", uri: b },
    ];
    const running = await start({ keys: entries });
    const made: unknown[] = [];
    for (let round = 0; round < 6; round += 1) {
      const calls = Array.from({ length: 20 }, () => running.client.sign(claimsOf()));
      await reload(running, { keys: round % 2 === 0 ? entries.toReversed() : entries });
      for (const answer of await Promise.all(calls)) made.push(kidOf(answer));
    }
    expect(made).toHaveLength(120);
    expect(new Set(made)).toEqual(new Set(["a", "b"]));
  });
});

describe("keys of a schedule", () => {
  const at = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

  test("one of the future that is away does not stop the start, and is published when it is there", async () => {
    const a = await keyFile("a.pem");
    const path = folder.at("b.pem");
    const schedule = {
      entries: [
        { keyId: "a", signer: a, announcedFrom: at(-24), activeFrom: at(-24) },
        { keyId: "b", signer: `local:${path}`, announcedFrom: at(-1), activeFrom: at(5) },
      ],
    };
    const running = await start({ keys: undefined, schedule });
    expect(await running.log.next("key_unopened")).toMatchObject({ level: "error" });
    expect(await kids(running.client)).toEqual(["a"]);
    const metrics = await (await fetch(`${String(running.ready["admin"])}/metrics`)).text();
    expect(metrics.split("\n")).toContain("signpost_kubernetes_keys_unopened 1");
    await keyFile("b.pem");
    await running.log.next("key_opened");
    expect(await kids(running.client)).toEqual(["a", "b"]);
  });

  test("the active one must open, and so must one whose tokens are still valid", async () => {
    const a = await keyFile("a.pem");
    const gone = `local:${folder.at("gone.pem")}`;
    for (const [first, second] of [
      [gone, a],
      [a, gone],
    ]) {
      const entries = [
        { signer: first, announcedFrom: at(-24), activeFrom: at(-24) },
        { signer: second, announcedFrom: at(-6), activeFrom: at(-0.1) },
      ];
      const running = startSigner(await configure({ keys: undefined, schedule: { entries } }));
      expect(await running.ended()).toBe(2);
      expect(running.log.lines.at(-1)?.message).toContain("ENOENT");
    }
  });

  test("a schedule may be in a file of its own, as signpost rotate writes it", async () => {
    const a = await keyFile("a.pem");
    const entries = [{ keyId: "a", signer: a, announcedFrom: at(-24), activeFrom: at(-24) }];
    await folder.write("schedule.json", { entries, maxTokenLifetimeSeconds: 3600 });
    const { client } = await start({ keys: undefined, schedule: "file:schedule.json" });
    expect(await kids(client)).toEqual(["a"]);
  });
});

describe("the audit log", () => {
  test("has a line for each token, and nothing else of its claims", async () => {
    const audit = folder.at("audit.log");
    const { client, log, stop } = await start({ audit });
    await client.sign(claimsOf({ jti: "1", secret: "claim" }));
    await client.sign(claimsOf({ jti: "2", iss: "other" })).catch(() => undefined);
    await client.sign("").catch(() => undefined);
    await client.fetchKeys();
    const lines = (await readFile(audit, "utf8")).trim().split("\n");
    const [kid] = await kids(client);
    const sub = "system:serviceaccount:default:builder";
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { time, jti: "1", sub, kid, code: "ok" },
      { time, jti: "2", sub, code: "wrong_issuer" },
      { time, code: "invalid_claims" },
    ]);
    expect((await stat(audit)).mode & 0o777).toBe(0o600);
    expect(await stop()).toBe(0);
    expect(JSON.stringify(log.lines)).not.toContain("builder");
  });

  test("is opened again after SIGHUP, when it was moved away", async () => {
    const audit = folder.at("audit.log");
    const running = await start({ audit });
    await running.client.sign(claimsOf({ jti: "1" }));
    await rename(audit, `${audit}.1`);
    await running.client.sign(claimsOf({ jti: "2" }));
    running.child.kill("SIGHUP");
    await running.log.next("loaded");
    await running.log.next("loaded");
    await running.client.sign(claimsOf({ jti: "3" }));
    expect(await readFile(`${audit}.1`, "utf8")).toMatch(/"jti":"1".*\n.*"jti":"2".*\n$/);
    expect(await readFile(audit, "utf8")).toMatch(/^\{.*"jti":"3".*\}\n$/);
  });

  test("goes to stdout with -", async () => {
    const { client, stop, stdout } = await start({ audit: "-" });
    await client.sign(claimsOf({ jti: "1" }));
    await stop();
    expect(JSON.parse(stdout())).toMatchObject({ jti: "1", code: "ok" });
  });

  test("has its path from the folder of the configuration", async () => {
    const { client } = await start({ audit: "audit.log" });
    await client.sign(claimsOf({ jti: "1" }));
    expect(JSON.parse(await readFile(folder.at("audit.log"), "utf8"))).toMatchObject({ jti: "1" });
  });

  test("that cannot be opened again does not keep a key from being revoked", async () => {
    const [a, b] = [await keyFile("a.pem"), await keyFile("b.pem")];
    await mkdir(folder.at("logs"));
    const audit = folder.at("logs/audit.log");
    const running = await start({ audit, keys: [{ keyId: "a", uri: a }] });
    await running.log.next("loaded");
    await rename(folder.at("logs"), folder.at("moved"));
    await reload(running, { audit, keys: [{ keyId: "b", uri: b }] });
    expect(await running.log.next("audit_failed")).toMatchObject({
      level: "error",
      code: "invalid_configuration",
      message: expect.stringContaining("audit: the file cannot be opened (ENOENT)"),
    });
    await running.log.next("loaded");
    expect(kidOf(await running.client.sign(claimsOf({ jti: "1" })))).toBe("b");
    expect(JSON.parse(await readFile(folder.at("moved/audit.log"), "utf8"))).toMatchObject({ jti: "1", kid: "b" });
  });

  test("on stdout without a reader ends the program in order, and no token leaves", async () => {
    const { client, child, log, ended } = await start({ audit: "-" });
    await client.metadata();
    child.stdout?.destroy();
    await expect(client.sign(claimsOf())).rejects.toMatchObject({ details: "audit_failed" });
    expect(await ended()).toBe(3);
    expect(log.lines.map(({ event }) => event)).toEqual(["loaded", "ready", "audit_failed", "stopping", "stopped"]);
  });

  test("is a regular file, and a device is refused", async () => {
    const running = startSigner(await configure({ audit: "/dev/full" }));
    expect(await running.ended()).toBe(2);
    expect(running.log.lines.at(-1)?.message).toContain("audit: expected a regular file");
  });
});

test("the key set is served at a public URL, with RSA keys of before", async () => {
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await folder.write("sa.pub", publicKey.export({ type: "spki", format: "pem" }).toString());
  const { client, ready } = await start({
    legacyKeys: [{ publicKeyFile: "sa.pub" }],
    publicJwks: { port: 0, issuer: "https://keys.example" },
  });
  const origin = String(ready["publicJwks"]);
  const response = await fetch(`${origin}/openid/v1/jwks`);
  expect(response.headers.get("etag")).toMatch(/^"[0-9a-f]{64}"$/);
  const keySet = (await response.json()) as JSONWebKeySet;
  expect(keySet.keys.map(({ kid }) => kid)).toEqual(await kids(client));
  expect(keySet.keys.map(({ alg }) => alg)).toEqual(["ES256", "RS256"]);
  const claims = claimsOf();
  const { header, signature } = await client.sign(claims);
  const { payload } = await jwtVerify(`${header}.${claims}.${signature}`, createLocalJWKSet(keySet));
  expect(payload.iss).toBe(ISSUER);
  expect((await fetch(`${origin}/other`)).status).toBe(404);
});

describe("the end", () => {
  test("while it finishes its calls, it is alive and not ready", async () => {
    const kms = await startFakeAwsKms();
    cleanups.push(() => kms.stop());
    const { accessKeyId, secretAccessKey } = kms.credentials;
    const keys = [{ uri: `awskms://127.0.0.1:${kms.port}/${kms.addKey().keyId}?region=${kms.region}` }];
    const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const running = await startReady(await configure({ keys }), env);
    const client = connectTo(folder.at("signer.sock"));
    cleanups.push(
      () => running[Symbol.asyncDispose](),
      () => client.close(),
    );
    kms.faults.on("hang", "Sign");
    const call = client.sign(claimsOf()).catch((error: unknown) => error);
    await vi.waitFor(() => expect(kms.requests.some(({ operation }) => operation === "Sign")).toBe(true), 10_000);
    running.child.kill("SIGTERM");
    await running.log.next("stopping");
    const ask = (path: string): Promise<Response> => fetch(`${String(running.ready["admin"])}${path}`);
    expect((await ask("/livez")).status).toBe(200);
    const ready = await ask("/readyz");
    expect([ready.status, await ready.text()]).toEqual([503, "stopping"]);
    expect((await (await ask("/metrics")).text()).split("\n")).toContain("signpost_kubernetes_ready 0");
    kms.reset();
    await call;
    expect(await running.ended()).toBe(0);
  });

  test("SIGTERM removes the socket, and the exit code is 0", async () => {
    const { stop, log } = await start();
    expect(await stop()).toBe(0);
    await expect(stat(folder.at("signer.sock"))).rejects.toMatchObject({ code: "ENOENT" });
    expect(log.lines.map(({ event }) => event)).toEqual(["loaded", "ready", "stopping", "stopped"]);
  });

  test("after kill -9 the next one takes the socket, and the client goes on", async () => {
    const a = await keyFile("a.pem");
    const keys = [{ keyId: "a", uri: a }];
    const { stop, client } = await start({ keys });
    await client.sign(claimsOf());
    expect(await stop("SIGKILL")).toBeNull();
    const next = await startReady(folder.at("config.json"));
    cleanups.push(() => next[Symbol.asyncDispose]());
    const other = connectTo(folder.at("signer.sock"));
    cleanups.push(() => other.close());
    expect(kidOf(await other.sign(claimsOf()))).toBe("a");
  });
});

describe("--check", () => {
  test("opens the keys and ends, while another one serves", async () => {
    const { client } = await start();
    const check = startSigner(folder.at("config.json"), ["--check"]);
    expect(await check.ended()).toBe(0);
    expect(check.log.lines.map(({ event }) => event)).toEqual(["checked"]);
    await client.metadata();
  });

  test("finds what is wrong", async () => {
    const check = startSigner(await configure({ keys: [{ uri: "local:/nowhere/key.pem" }] }), ["--check"]);
    expect(await check.ended()).toBe(2);
    expect(check.log.lines.at(-1)).toMatchObject({ level: "error", event: "failed" });
  });
});

test("each metric of the guide is one of the program, and each of the program is in the README", async () => {
  const { ready } = await start();
  const text = await (await fetch(`${String(ready["admin"])}/metrics`)).text();
  const metrics = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name);
  const read = (path: string): Promise<string> => readFile(new URL(`../${path}`, import.meta.url), "utf8");
  const named = (page: string): readonly string[] =>
    [...page.matchAll(/\b(?:signpost_kubernetes|process)_\w+/g)].map(([name]) => name);
  const readme = named(await read("README.md"));
  expect(metrics.filter((name) => !readme.includes(name))).toEqual([]);
  const guide = named(await read("../../docs/kubernetes-operations.md"));
  expect(guide.length).toBeGreaterThan(0);
  expect([...readme, ...guide].filter((name) => !metrics.includes(name))).toEqual([]);
});

test.each([
  [["--conifg", "x"], "something that is no option"],
  [["secret"], "something that is no option"],
  [["--config", ""], "--config: expected the path"],
])("the command line %j is refused with code 2", (args, message) => {
  const { status, stderr } = spawnSync(process.execPath, [BIN, ...args], { encoding: "utf8" });
  expect(status).toBe(2);
  expect(stderr).toContain(message);
});

test("without the gRPC library, it says what to install", async () => {
  const home = folder.at("node_modules/@signpost");
  const kubernetes = `${home}/kubernetes`;
  await mkdir(kubernetes, { recursive: true });
  await cp(dirname(BIN), `${kubernetes}/dist`, { recursive: true });
  await cp(fileURLToPath(new URL("../package.json", import.meta.url)), `${kubernetes}/package.json`);
  await symlink(fileURLToPath(new URL("../../core", import.meta.url)), `${home}/core`);
  const args = [`${kubernetes}/dist/bin.js`, "--config", await configure()];
  expect(spawnSync(process.execPath, args, { encoding: "utf8" })).toMatchObject({
    status: 2,
    stdout: "",
    stderr: "error @grpc/grpc-js is not installed, and this program needs it: npm install @grpc/grpc-js\n",
  });
});

test("a folder that others can open is refused with code 2", async () => {
  await mkdir(folder.at("open"));
  await chmod(folder.at("open"), 0o755);
  const running = startSigner(await configure({ socket: { path: folder.at("open/s.sock") } }));
  expect(await running.ended()).toBe(2);
  expect(running.log.lines.at(-1)?.message).toContain("has the mode 0755; expected 0700");
  await rm(folder.at("open"), { recursive: true });
});
