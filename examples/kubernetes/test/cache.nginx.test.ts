import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openLocalSigner } from "@signpost/local";
import { createMemoryReplayStore } from "@signpost/verify";
import { type RunningOp, startOp } from "@signpost/example-minimal-op/op";
import { openSchedule } from "@signpost/example-minimal-op/schedule";
import { type BackendProcess, freePort, startProcess } from "@signpost/test-backends/process";
import { find, podOf, readManifests } from "./manifests.ts";

let folder: string;
let op: RunningOp;
let nginx: BackendProcess;
let origin: string;
let signed = 0;

/** Writes the files of the ConfigMap to a folder, with loopback addresses instead of the cluster's. */
async function writeConf(data: Readonly<Record<string, string>>, port: number): Promise<string> {
  const conf = join(folder, "conf");
  await mkdir(conf);
  for (const [name, text] of Object.entries(data)) {
    const here = text
      .replaceAll("/tmp/", `${folder}/`)
      .replaceAll("/etc/op-cache/", `${conf}/`)
      .replace("listen 8080;", `listen 127.0.0.1:${port};`)
      .replace("server op:3000;", `server 127.0.0.1:${op.port};`);
    await writeFile(join(conf, name), here);
  }
  return join(conf, "nginx.conf");
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "op-cache-"));
  const moment = "2026-01-15T08:00:00Z";
  const opened = await openSchedule(
    { maxTokenLifetimeSeconds: 60, keys: [{ uri: "local:", announcedFrom: moment, activeFrom: moment }] },
    async (_uri, policy) => {
      const signer = await openLocalSigner({ policy });
      return {
        ...signer,
        sign: (...call) => {
          signed += 1;
          return signer.sign(...call);
        },
      };
    },
    () => Date.parse(moment) + 1,
  );
  const replayStore = createMemoryReplayStore();
  const issuer = "https://op.example";
  op = await startOp({ issuer, port: 0, opened, tokenLifetimeSeconds: 60, clients: {}, replayStore, drainMs: 0 });

  const manifests = await readManifests();
  const port = await freePort();
  const conf = await writeConf(find(manifests, "ConfigMap", "op-cache").data ?? {}, port);
  const { container } = podOf(find(manifests, "Deployment", "op-cache"));
  const args = (container.command ?? [])
    .slice(1)
    .map((argument) => argument.replace("/etc/op-cache/nginx.conf", conf).replace(/^\/tmp$/, folder));
  const command = existsSync("/usr/sbin/nginx") ? "/usr/sbin/nginx" : "nginx";
  // One process, so that ending it leaves no worker behind.
  nginx = startProcess({
    command,
    args: args.map((argument) => argument.replace("daemon off;", "daemon off; master_process off;")),
  });
  origin = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> =>
    fetch(`${origin}/cache-alive`).then(
      ({ status }) => status === 204,
      () => false,
    );
  await nginx.waitUntil("answers", answers, 20_000);
});
afterAll(async () => {
  await nginx.stop();
  await op.close();
  await rm(folder, { recursive: true });
});

test("nginx accepts the ConfigMap as it is, and returns the OP's exact answer", async () => {
  const direct = await fetch(`http://127.0.0.1:${op.port}/jwks`);
  const cached = await fetch(`${origin}/jwks`);
  const read = async (response: Response) => [
    response.status,
    ...["content-type", "cache-control", "etag", "content-length"].map((name) => response.headers.get(name)),
    await response.text(),
  ];
  expect(await read(cached)).toEqual(await read(direct));
});

test.each([
  "/ready",
  "/alive",
  "//ready",
  "/%72eady",
  "/a/../ready",
  "/./ready",
  "/ready?a=b",
  "/ready#a",
  "/ready/",
  "/READY",
  "/ready%00",
  "/a%2f..%2fready",
  "http://op.example/ready",
  "http://op:3000/ready",
])("%s is only for kubelets, so requests from outside cannot make the OP sign", async (path) => {
  for (const method of ["GET", "HEAD", "POST"]) {
    const [response] = (await once(request(origin, { path, method }).end(), "response")) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBeOneOf([400, 404]);
  }
  expect(signed).toBe(0);
});

test("the second request for the key set does not reach the OP, its discovery document does", async () => {
  await fetch(`${origin}/jwks`);
  const discovery = await fetch(`${origin}/.well-known/openid-configuration`);
  expect(await discovery.json()).toMatchObject({ issuer: "https://op.example" });
  await op.close();
  expect((await fetch(`${origin}/jwks`)).status).toBe(200);
  expect((await fetch(`${origin}/.well-known/openid-configuration`)).status).toBe(502);
});
