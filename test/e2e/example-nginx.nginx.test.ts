import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createJwksEndpoint, createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { freePort, startProcess } from "@signpost/test-backends/process";
import { expect, onTestFinished, test } from "vitest";
import { startReplicas } from "./support/jwks-replicas.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/nginx/", import.meta.url));

/** The `nginx.conf` of the README, with other ports, as one process, and with folders that any user may write. */
async function configured(op: number, port: number): Promise<string> {
  const readme = await readFile(join(EXAMPLE, "README.md"), "utf8");
  const [, conf = ""] = /```nginx\n([\s\S]*?)```/.exec(readme) ?? [];
  const user = process.getuid?.() === 0 ? `user ${userInfo().username};` : "";
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path temp/${name};`);
  return `daemon off; master_process off; ${user}\n${conf}`
    .replace("127.0.0.1:3000", `127.0.0.1:${op}`)
    .replace("127.0.0.1:8080", `127.0.0.1:${port}`)
    .replace("http {", `http { ${folders.join(" ")}`);
}

test("the nginx.conf of the README works as it stands: it stores the key set, and passes other paths on", async () => {
  const keys = createKeySet([{ signer: await openLocalSigner() }]);
  const replicas = await startReplicas([createJwksEndpoint({ issuer: "https://op.example", keys })]);
  onTestFinished(() => replicas[Symbol.asyncDispose]());
  const [replica] = replicas.all;
  const folder = await mkdtemp(join(tmpdir(), "signpost-nginx-readme-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "temp"));
  for (const file of ["jwks-http.conf", "jwks-server.conf"]) await copyFile(join(EXAMPLE, file), join(folder, file));
  const port = await freePort();
  await writeFile(join(folder, "nginx.conf"), await configured(replica?.port ?? 0, port));

  const nginx = startProcess({
    command: existsSync("/usr/sbin/nginx") ? "/usr/sbin/nginx" : "nginx",
    args: ["-p", folder, "-c", "nginx.conf", "-e", "error.log"],
  });
  onTestFinished(() => nginx.stop());
  const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
  const answers = (): Promise<boolean> =>
    get("/jwks").then(
      ({ ok }) => ok,
      () => false,
    );
  await nginx.waitUntil("serves the key set", answers, 20_000);

  const before = replicas.requests();
  const jwks = await get("/jwks");
  expect(jwks.headers.get("cache-control")).toBe("public, max-age=3600, stale-while-revalidate=3600");
  expect(((await jwks.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)).toEqual([
    keys.keys[0]?.keyId,
  ]);
  expect(replicas.requests()).toBe(before);

  await get("/token");
  expect(replicas.requests()).toBe(before + 1);
});
