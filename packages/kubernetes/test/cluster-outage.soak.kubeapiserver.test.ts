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
// comes.

const OUTAGES_S = [1, 25, 90];
const NOTICED_MS = 1000;

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

interface Outcome {
  /** Of a TokenRequest at the begin of the outage. */
  readonly status: number;
  /** From the return of the signer, with its start, to the first token. */
  readonly seconds: number;
}

async function measure({ kube, goAway, comeBack }: Plane, outageSeconds: number): Promise<Outcome> {
  await issuedBy(kube);
  await goAway();
  // So that kube-apiserver notices first: a request that it sends to a process that has just died gets 500.
  await delay(NOTICED_MS);
  const waiting = kube.requestToken();
  await delay(Math.max(0, outageSeconds * 1000 - NOTICED_MS));
  const back = performance.now();
  await comeBack();
  const { status } = await waiting;
  let last = status;
  while (last !== 201) last = (await kube.requestToken()).status;
  return { status, seconds: (performance.now() - back) / 1000 };
}

test("after an outage the first token comes by itself, and a request that waited for 34 s has got 504", async () => {
  for (const outage of OUTAGES_S) {
    const outcomes = await Promise.all(planes.map((plane) => measure(plane, outage)));
    const texts = outcomes.map(({ seconds }, index) => `${seconds.toFixed(1)} s if ${planes[index]?.name}`);
    process.stdout.write(`first token after the signer was away for ${outage} s: ${texts.join(", ")}\n`);
    const [lost, kept] = outcomes.map(({ status }) => status);
    // Without its socket, the next attempt to connect may come after the 34 s.
    expect(outage < 34 ? [201, 504] : [504]).toContain(lost);
    expect(kept).toBe(outage < 34 ? 201 : 504);
    for (const { kube } of planes) expect(await kube.requestToken()).toMatchObject({ status: 201 });
  }
}, 400_000);
