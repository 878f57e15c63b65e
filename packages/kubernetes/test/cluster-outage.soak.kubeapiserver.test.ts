import { setTimeout as delay } from "node:timers/promises";
import type { KeptSocket } from "@signpost/test-backends/kept-socket";
import { KUBE_ISSUER, type KubeApiserver } from "@signpost/test-backends/kube-apiserver";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, signingEndpoint, startCluster } from "./support/cluster.ts";
import {
  createSignerFolder,
  type Signer,
  type SignerFolder,
  type SignerSettings,
  startSigner,
  startSignerUnit,
} from "./support/signer-process.ts";
import { createEcKey, issuedBy } from "./support/tokens.ts";

// How long it takes until the first token after the signer was away, for the table in docs/kubernetes-operations.md. It is
// printed and not judged: the pause between two attempts of kube-apiserver to connect is random. What is judged is that a token
// comes, and that the wait of a request ends.

const OUTAGES_S = [0, 25, 90];

interface Plane {
  readonly name: string;
  readonly kube: KubeApiserver;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

let cluster: Cluster;
let keptFolder: SignerFolder;
let unit: KeptSocket;
let planes: readonly Plane[];
let signer: Signer | undefined;
beforeAll(async () => {
  cluster = await startCluster({
    settings,
    start: async (folder) => {
      signer = await startSigner(folder);
      return { ...signer, stop: async () => signer?.stop() };
    },
  });
  keptFolder = await createSignerFolder();
  await keptFolder.configure({ ...(await settings(keptFolder)), socket: { systemd: true } });
  unit = await startSignerUnit(keptFolder);
  planes = [
    {
      name: "its socket goes with it",
      kube: cluster.kube,
      goAway: async () => signer?.stop(),
      comeBack: async () => {
        signer = await startSigner(cluster.folder);
      },
    },
    {
      name: "its socket is kept",
      kube: await cluster.startKube([signingEndpoint(keptFolder)]),
      goAway: () => unit.goAway("SIGKILL"),
      comeBack: async () => unit.comeBack(),
    },
  ];
}, 120_000);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await unit?.stop();
  await keptFolder[Symbol.asyncDispose]();
});

async function settings(folder: SignerFolder): Promise<SignerSettings> {
  const uri = `local:${await folder.write("sa-1.pem", createEcKey().privatePem)}`;
  return { issuer: KUBE_ISSUER, maxTokenLifetimeSeconds: 3600, keys: [{ keyId: "sa-1", uri }] };
}

/** Seconds from the return of the signer to the first token. The requests of the outage are those of one impatient caller. */
async function measure({ kube, goAway, comeBack }: Plane, outageSeconds: number): Promise<number> {
  await issuedBy(kube);
  await goAway();
  const outage = delay(outageSeconds * 1000);
  const waiting = kube.requestToken();
  await outage;
  const back = performance.now();
  await comeBack();
  let first = await waiting;
  while (first.status !== 201) first = await kube.requestToken();
  return (performance.now() - back) / 1000;
}

test("after an outage the first token comes by itself", async () => {
  const rows: string[] = [];
  for (const outage of OUTAGES_S) {
    const seconds = await Promise.all(planes.map((plane) => measure(plane, outage)));
    rows.push(
      `${outage} s away: ${planes.map(({ name }, index) => `${seconds[index]?.toFixed(1)} s if ${name}`).join(", ")}`,
    );
    for (const { kube } of planes) expect(await kube.requestToken()).toMatchObject({ status: 201 });
  }
  process.stdout.write(`first token after the signer is back\n${rows.join("\n")}\n`);
}, 400_000);

test("a TokenRequest that no signer answers ends by itself, with 504", async () => {
  const [plane] = planes;
  await plane?.goAway();
  expect(await plane?.kube.requestToken()).toMatchObject({ status: 504, token: "" });
}, 120_000);
