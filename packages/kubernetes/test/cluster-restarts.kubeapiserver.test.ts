import { setTimeout as delay } from "node:timers/promises";
import type { KeptSocket } from "@signpost/test-backends/kept-socket";
import type { KubeApi, RequestedToken } from "@signpost/test-backends/kube-api";
import { KUBE_ISSUER } from "@signpost/test-backends/kube-apiserver";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, startCluster } from "./support/cluster.ts";
import { startSignerUnit, waitUntilReady } from "./support/signer-process.ts";
import { createEcKey, issuedBy } from "./support/tokens.ts";

// The socket outlives the signer, as with a .socket unit of systemd.

const CALLERS = 4;

let cluster: Cluster;
let unit: KeptSocket;
beforeAll(async () => {
  cluster = await startCluster({
    settings: async (folder) => ({
      issuer: KUBE_ISSUER,
      socket: { systemd: true },
      maxTokenLifetimeSeconds: 3600,
      keys: [{ keyId: "sa-1", uri: `local:${await folder.write("sa-1.pem", createEcKey().privatePem)}` }],
    }),
    start: async (folder) => {
      unit = await startSignerUnit(folder);
      return unit;
    },
  });
}, 120_000);
afterAll(() => cluster?.[Symbol.asyncDispose]());

interface Load {
  /** Resolves to the status of each TokenRequest, in order. */
  stop(): Promise<readonly number[]>;
}

/** Callers that request one token after another. */
function requestAllTheTime(): Load {
  let isOver = false;
  const statuses: number[] = [];
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isOver) statuses.push((await cluster.kube.requestToken()).status);
  });
  return {
    stop: async () => {
      isOver = true;
      await Promise.all(callers);
      return statuses;
    },
  };
}

/** Restarts the signer, and waits until it has signed again. */
async function restart(signal: NodeJS.Signals): Promise<void> {
  await unit.restart(signal);
  await waitUntilReady(cluster.folder);
  await issuedBy(cluster.kube);
}

test("no TokenRequest fails while the signer is stopped by SIGTERM and started again", async () => {
  const load = requestAllTheTime();
  await restart("SIGTERM");
  await restart("SIGTERM");
  const statuses = await load.stop();
  expect(statuses.length).toBeGreaterThan(CALLERS);
  expect(statuses.filter((status) => status !== 201)).toEqual([]);
});

test("after kill -9 only the requests fail that the signer had taken", async () => {
  const load = requestAllTheTime();
  await restart("SIGKILL");
  await restart("SIGKILL");
  const statuses = await load.stop();
  expect(statuses.filter((status) => status !== 201).length).toBeLessThanOrEqual(2 * CALLERS);
});

test("while the signer is away, kube-apiserver is ready and accepts tokens that it knows, and a TokenRequest waits", async () => {
  const { kube } = cluster;
  const token = await issuedBy(kube);
  await unit.goAway("SIGKILL");
  const waiting = await waitingRequest(kube);
  expect(await kube.isReady()).toBe(true);
  expect(await kube.reviewToken(token)).toMatchObject({ authenticated: true });
  unit.comeBack();
  expect(await waiting.answer).toMatchObject({ status: 201 });
});

interface Waiting {
  readonly answer: Promise<RequestedToken>;
}

/** The first TokenRequest that waits. Those before it fail, if kube-apiserver has not seen yet that its connection has ended. */
async function waitingRequest(kube: KubeApi): Promise<Waiting> {
  for (;;) {
    const answer = kube.requestToken();
    const failed = await Promise.race([answer, delay(300, undefined)]);
    if (failed === undefined) return { answer };
    expect(failed.status).toBe(500);
  }
}
