import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clusterConfiguration, patchedCommand, readExample } from "./kubeadm.ts";

const FOLDER = "/run/signpost-kubernetes";
const UNITS = ["signpost-kubernetes.socket", "signpost-kubernetes.service"];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-units-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** The values of a setting, in order. */
async function settings(unit: string, name: string): Promise<readonly string[]> {
  return [...(await readExample(unit)).matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);
}

/** What systemd says about the units. It looks for the programs, so Node has its path on this machine. */
async function verify(change: (text: string) => string): Promise<string> {
  for (const unit of UNITS) {
    const text = (await readExample(unit)).replaceAll("/usr/bin/node", process.execPath);
    await writeFile(join(folder, unit), change(text));
  }
  const paths = UNITS.map((unit) => join(folder, unit));
  const run = promisify(execFile)("systemd-analyze", ["verify", "--man=no", ...paths]);
  return run.then(
    ({ stderr }) => stderr,
    (error: unknown) => (error as { readonly stderr: string }).stderr,
  );
}

test("systemd reads the units, and finds nothing wrong", async () => {
  expect(await verify((text) => text)).toBe("");
  // It does find a setting that does not exist.
  expect(await verify((text) => text.replace("SocketMode=", "SocketModes="))).toContain("SocketModes");
});

test("the socket and its folder are for root alone, and kube-apiserver mounts the folder", async () => {
  const [unit = ""] = UNITS;
  expect(await settings(unit, "ListenStream")).toEqual([`${FOLDER}/signer.sock`]);
  expect(await settings(unit, "SocketMode")).toEqual(["0600"]);
  expect(await settings(unit, "DirectoryMode")).toEqual(["0700"]);
  const { extraArgs, extraVolumes } = (await clusterConfiguration()).apiServer;
  expect(extraArgs).toEqual([{ name: "service-account-signing-endpoint", value: `${FOLDER}/signer.sock` }]);
  expect(extraVolumes).toMatchObject([{ hostPath: FOLDER, mountPath: FOLDER }]);
});

test("the patch leaves no flag that excludes the socket", async () => {
  const flags = (await patchedCommand()).filter((flag) => flag.startsWith("--service-account"));
  expect(flags).toEqual([
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    `--service-account-signing-endpoint=${FOLDER}/signer.sock`,
  ]);
});

interface StaticPod {
  readonly spec: {
    readonly hostNetwork: boolean;
    readonly automountServiceAccountToken: boolean;
    readonly containers: readonly {
      readonly args: readonly string[];
      readonly livenessProbe: { readonly httpGet: object };
      readonly readinessProbe: { readonly httpGet: object };
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    }[];
    readonly volumes: readonly { readonly name: string; readonly hostPath: { readonly path: string } }[];
  };
}

test("the static pod needs no token of the cluster, and asks the port of the configuration", async () => {
  const { spec } = parse(await readExample("static-pod.yaml")) as StaticPod;
  const { admin } = JSON.parse(await readExample("kubernetes.json")) as { readonly admin: { readonly port: number } };
  expect(spec).toMatchObject({ hostNetwork: true, automountServiceAccountToken: false });
  const [container] = spec.containers;
  expect(container?.livenessProbe.httpGet).toEqual({ host: "127.0.0.1", path: "/livez", port: admin.port });
  expect(container?.readinessProbe.httpGet).toEqual({ host: "127.0.0.1", path: "/readyz", port: admin.port });
  expect(spec.volumes.map(({ name, hostPath }) => [name, hostPath.path])).toEqual(
    container?.volumeMounts.map(({ name, mountPath }) => [name, mountPath]),
  );
  // Its folder is made before the kubelet would make it.
  expect(await readExample("tmpfiles.conf")).toMatch(new RegExp(`^d ${FOLDER} 0700 root root$`, "m"));
});
