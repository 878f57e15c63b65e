import { execFile, spawn, type ChildProcessByStdio } from "node:child_process";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { parse, parseAllDocuments } from "yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installPackages, listFiles, type Installed } from "./installed.ts";

// What can be tested without Docker, Kubernetes and systemd: the same files, commands, user and rights.

const read = (name: string): Promise<string> => readFile(new URL(`../${name}`, import.meta.url), "utf8");
/** The user of the image. Only root can become another user; without it, the folder is read-only for everyone alike. */
const USER = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

let installed: Installed;
let dockerfile: string;
beforeAll(async () => {
  [installed, dockerfile] = await Promise.all([installPackages(), read("Dockerfile")]);
});
afterAll(() => installed[Symbol.asyncDispose]());

/** The words of an instruction in JSON form. */
function instruction(name: string): readonly string[] {
  const line = new RegExp(`^${name} (\\[.*\\])$`, "m").exec(dockerfile)?.[1] ?? "";
  return JSON.parse(line) as readonly string[];
}

interface Running extends AsyncDisposable {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly keySet: string;
  readonly admin: string;
  ready(): Promise<void>;
  stop(): Promise<number | null>;
}

/** Runs a command line of these files on free ports, in the folder of the configuration. */
async function run(words: readonly string[], cwd: string): Promise<Running> {
  const [, program = "", ...args] = words.map((word) => (word.startsWith("/opt/") ? installed.at(word) : word));
  const ports = ["--port", "0", "--admin-port", "0"];
  const env = { PATH: process.env["PATH"], NODE_ENV: "production" };
  const child = spawn(process.execPath, [program, ...args, ...ports], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    ...USER,
  });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += String(chunk);
  });
  const first = await Promise.race([once(createInterface(child.stdout), "line"), once(child, "close")]);
  if (typeof first[0] !== "string") throw new Error(`it ended: ${errors}`);
  const addresses = JSON.parse(first[0]) as Pick<Running, "keySet" | "admin">;
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    child.kill(signal);
    await once(child, "close");
    return child.exitCode;
  };
  return {
    ...addresses,
    child,
    ready: () =>
      expect.poll(async () => (await fetch(`${addresses.admin}/readyz`)).status, { timeout: 20_000 }).toBe(200),
    stop: () => end("SIGTERM"),
    [Symbol.asyncDispose]: async () => void (await end("SIGKILL")),
  };
}

function without(words: readonly string[], flag: string): readonly string[] {
  const index = words.indexOf(flag);
  return index === -1 ? words : words.toSpliced(index, 2);
}

describe("the image", () => {
  test("has a user that is not root, and a folder of which nothing is written", () => {
    expect(dockerfile).toMatch(/^USER 1000:1000$/m);
    expect(dockerfile).toMatch(/^WORKDIR \/etc\/signpost$/m);
    expect(dockerfile.lastIndexOf("USER ")).toBeGreaterThan(dockerfile.lastIndexOf("COPY "));
  });

  test("serves with the files of the packages, as that user, with a mounted secret, and writes nothing", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const key = installed.at("run/secrets/op.pem");
    await writeFile(key, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o400 });
    if (USER.uid !== undefined) await chown(key, USER.uid, USER.gid);
    const folder = installed.at("etc/signpost");
    const config = { issuer: "https://op.example", keys: [{ keyId: "sig-1", signer: `local:${key}` }] };
    await writeFile(join(folder, "signpost.config.json"), JSON.stringify(config));
    await Promise.all(
      ["", "opt", "opt/signpost", "etc", "etc/signpost"].map((path) => chmod(installed.at(path), 0o555)),
    );
    const before = await listFiles(installed.root);
    const words = [...instruction("ENTRYPOINT"), ...without(instruction("CMD"), "--shutdown-delay")];
    await using server = await run(words, folder);
    await server.ready();
    const { x, y } = createPublicKey(privateKey).export({ format: "jwk" });
    expect(await (await fetch(server.keySet)).json()).toMatchObject({ keys: [{ kid: "sig-1", x, y }] });
    // The health check of the image, with the port of this run.
    const [node = "", ...health] = healthcheck();
    expect(node).toBe("node");
    const command = health.map((word) => word.replace("http://127.0.0.1:8081", server.admin));
    await promisify(execFile)(process.execPath, command, USER);
    expect(await server.stop()).toBe(143);
    await expect(promisify(execFile)(process.execPath, command, USER)).rejects.toMatchObject({ code: 1 });
    expect(await listFiles(installed.root)).toEqual(before);
    await Promise.all(["", "etc/signpost"].map((path) => chmod(installed.at(path), 0o755)));
  });
});

function healthcheck(): readonly string[] {
  const line = /^HEALTHCHECK [^\n]*\\\n\s*CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? "";
  return JSON.parse(line) as readonly string[];
}

describe("in Kubernetes", () => {
  interface Probe {
    readonly httpGet: { readonly path: string; readonly port: string };
    readonly periodSeconds: number;
    readonly failureThreshold: number;
  }
  interface Manifest {
    readonly kind: string;
    readonly data?: Readonly<Record<string, string>>;
    readonly spec?: {
      readonly ports?: readonly { readonly targetPort: string }[];
      readonly template?: { readonly spec: PodSpec };
    };
  }
  interface PodSpec {
    readonly terminationGracePeriodSeconds: number;
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly containers: readonly {
      readonly args: readonly string[];
      readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
      readonly livenessProbe: Probe;
      readonly readinessProbe: Probe;
      readonly securityContext: Readonly<Record<string, unknown>>;
      readonly volumeMounts: readonly Readonly<Record<string, unknown>>[];
    }[];
  }
  let manifests: readonly Manifest[];
  let pod: PodSpec;
  const find = (kind: string): Manifest => manifests.find((manifest) => manifest.kind === kind) ?? { kind };
  beforeAll(async () => {
    manifests = parseAllDocuments(await read("kubernetes.yaml")).map((document) => parse(String(document)) as Manifest);
    pod = find("Deployment").spec?.template?.spec as PodSpec;
  });
  const option = (name: string): number => Number(pod.containers[0]?.args[pod.containers[0].args.indexOf(name) + 1]);

  test("the probes ask the second port, which the Service does not have", () => {
    const [container] = pod.containers;
    expect(container?.livenessProbe.httpGet).toEqual({ path: "/livez", port: "admin" });
    expect(container?.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "admin" });
    expect(container?.ports.map(({ name, containerPort }) => [name, containerPort])).toEqual([
      ["http", 8080],
      ["admin", 8081],
    ]);
    expect(find("Service").spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(["http"]);
  });

  test("a replica serves until its probe has failed, and has time to finish", () => {
    const { periodSeconds = 0, failureThreshold = 0 } = pod.containers[0]?.readinessProbe ?? {};
    expect(option("--shutdown-delay")).toBeGreaterThan(periodSeconds * failureThreshold);
    // With the default of --shutdown-timeout, and what the program takes to end.
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(option("--shutdown-delay") + 10 + 2);
  });

  test("the pod is restricted, and its file system is read-only", () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(pod.containers[0]?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod.containers[0]?.volumeMounts.some((mount) => "subPath" in mount)).toBe(false);
  });

  test("the ConfigMap serves without credentials, and a new version of it is loaded when the kubelet swaps it", async () => {
    const folder = installed.at("etc/signpost");
    const content = find("ConfigMap").data?.["signpost.config.json"] ?? "";
    const changed = content.replace('"issuer"', '"mountPrefix": "/next", "issuer"');
    await rm(join(folder, "signpost.config.json"), { force: true });
    for (const [version, text] of [
      ["..1", content],
      ["..2", changed],
    ] as const) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, "signpost.config.json"), text);
    }
    await symlink("..1", join(folder, "..data"));
    await symlink("..data/signpost.config.json", join(folder, "signpost.config.json"));
    const args = without(pod.containers[0]?.args ?? [], "--shutdown-delay");
    await using server = await run([...instruction("ENTRYPOINT"), ...args], folder);
    await server.ready();
    expect(await (await fetch(server.keySet)).text()).toContain('"kid":"sig-2026-01"');
    await symlink("..2", join(folder, "..data_tmp"));
    await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    const moved = server.keySet.replace("/jwks", "/next/jwks");
    await expect.poll(async () => (await fetch(moved)).status, { timeout: 20_000 }).toBe(200);
    expect(await server.stop()).toBe(143);
  });
});

test("the unit of systemd starts the same program, and knows its exit codes and signals", async () => {
  const unit = await read("signpost.service");
  const value = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";
  expect(value("ExecStart").split(" ").slice(1, 3)).toEqual(instruction("ENTRYPOINT").slice(1));
  expect(value("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
  expect([value("SuccessExitStatus"), value("RestartPreventExitStatus")]).toEqual(["143", "2"]);
  expect(Number(value("TimeoutStopSec"))).toBeGreaterThan(12);
  expect([value("DynamicUser"), value("ProtectSystem"), value("NoNewPrivileges")]).toEqual(["yes", "strict", "yes"]);
});
