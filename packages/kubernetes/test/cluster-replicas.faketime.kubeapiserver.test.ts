import { skewedClock } from "@signpost/test-backends/faketime";
import { KUBE_ISSUER, type KubeApiserver } from "@signpost/test-backends/kube-apiserver";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, signingEndpoint, startCluster } from "./support/cluster.ts";
import {
  createSignerFolder,
  type Signer,
  type SignerFolder,
  type SignerSettings,
  startSigner,
} from "./support/signer-process.ts";
import { createEcKey, issuedBy, kidOf, verifiesByPublishedKey } from "./support/tokens.ts";

// Two control planes on one etcd. The clock of one signer is ahead, the clock of the other is behind.

const SKEW_SECONDS = 5;
const HOUR_MS = 3_600_000;

interface ControlPlane {
  readonly kube: KubeApiserver;
  readonly folder: SignerFolder;
  reload(): Promise<void>;
}

const keys = { "sa-1": createEcKey(), "sa-2": createEcKey(), "sa-3": createEcKey() };
let cluster: Cluster;
let otherFolder: SignerFolder;
let otherSigner: Signer | undefined;
let ahead: ControlPlane;
let behind: ControlPlane;
beforeAll(async () => {
  otherFolder = await createSignerFolder();
  const begin = entry("sa-1", -50, -50);
  [cluster] = await Promise.all([
    startCluster({
      settings: (folder) => schedule(folder, [begin]),
      start: async (folder) => startSigner(folder, await skewedClock(SKEW_SECONDS)),
    }),
    schedule(otherFolder, [begin]).then((settings) => otherFolder.configure(settings)),
  ]);
  otherSigner = await startSigner(otherFolder, await skewedClock(-SKEW_SECONDS));
  const { signal } = otherSigner;
  ahead = cluster;
  behind = {
    kube: await cluster.startKube([signingEndpoint(otherFolder)]),
    folder: otherFolder,
    reload: () => signal("SIGHUP"),
  };
}, 120_000);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await otherSigner?.stop();
  await otherFolder[Symbol.asyncDispose]();
});

type KeyId = keyof typeof keys;
type Entry = Readonly<Record<string, string>> & { readonly keyId: KeyId };

/** Times are in hours from now, or dates. */
function entry(keyId: KeyId, announced: number | Date, active: number | Date, emergency?: Date): Entry {
  const at = (time: number | Date): string =>
    (time instanceof Date ? time : new Date(Date.now() + time * HOUR_MS)).toISOString();
  const dates = { announcedFrom: at(announced), activeFrom: at(active) };
  return { keyId, ...dates, ...(emergency === undefined ? {} : { emergencyAt: at(emergency) }) };
}

async function schedule(folder: SignerFolder, entries: readonly Entry[]): Promise<SignerSettings> {
  const written = entries.map(async (each) => {
    const path = await folder.write(`${each.keyId}.pem`, keys[each.keyId].privatePem);
    return { ...each, signer: `local:${path}` };
  });
  return {
    issuer: KUBE_ISSUER,
    maxTokenLifetimeSeconds: 3600,
    refreshHintSeconds: 2,
    schedule: { announceHours: 2, sharedCaches: false, entries: await Promise.all(written) },
  };
}

async function rollOut({ folder, reload }: ControlPlane, entries: readonly Entry[]): Promise<void> {
  await folder.configure(await schedule(folder, entries));
  await reload();
}

/** A token of each control plane, which both accept, and which verifies with the keys that both publish. */
async function bothAcceptBoth(): Promise<readonly unknown[]> {
  const tokens = await Promise.all([issuedBy(ahead.kube), issuedBy(behind.kube)]);
  for (const token of tokens) {
    for (const { kube } of [ahead, behind]) {
      expect(await kube.reviewToken(token)).toMatchObject({ authenticated: true });
      expect(await verifiesByPublishedKey(kube, token)).toBe(true);
    }
  }
  return tokens.map(kidOf);
}

test("while a rotation passes, each accepts the tokens of the other, also while they sign with different keys", async () => {
  const seen = new Set([(await bothAcceptBoth()).join(" and ")]);
  const changes = new Date(Date.now() + 12_000);
  const entries = [entry("sa-1", -50, -50), entry("sa-2", -3, changes), entry("sa-3", -3, 1000)];
  await Promise.all([rollOut(ahead, entries), rollOut(behind, entries)]);
  await expect
    .poll(
      async () => {
        seen.add((await bothAcceptBoth()).join(" and "));
        return [...seen];
      },
      { timeout: 40_000, interval: 300 },
    )
    .toEqual(["sa-1 and sa-1", "sa-2 and sa-1", "sa-2 and sa-2"]);
});

test("after an emergency, the announced key signs at once, also where the new schedule comes later", async () => {
  const [stolen, spare] = [await issuedBy(ahead.kube), new Date()];
  // Both remember it.
  for (const { kube } of [ahead, behind]) expect(await kube.reviewToken(stolen)).toMatchObject({ authenticated: true });
  const entries = [entry("sa-1", -50, -50), entry("sa-3", -3, spare, spare)];
  await rollOut(ahead, entries);
  await expect.poll(async () => kidOf(await issuedBy(ahead.kube)), { timeout: 20_000 }).toBe("sa-3");
  expect(await behind.kube.reviewToken(await issuedBy(ahead.kube))).toMatchObject({ authenticated: true });
  await rollOut(behind, entries);
  await expect.poll(async () => kidOf(await issuedBy(behind.kube)), { timeout: 20_000 }).toBe("sa-3");
  // The refresh hint, and 10 s for which kube-apiserver remembers that it accepted a token.
  for (const { kube } of [ahead, behind]) {
    await expect
      .poll(async () => (await kube.reviewToken(stolen)).authenticated, { timeout: 30_000, interval: 500 })
      .toBe(false);
    expect([...(await kube.publishedKeys()).keys()]).not.toContain("sa-2");
  }
});
