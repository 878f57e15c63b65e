import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type FakeAwsKms, type FakeKmsKey, startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { KUBE_ISSUER } from "@signpost/test-backends/kube-apiserver";
import { freePort } from "@signpost/test-backends/process";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Cluster, startCluster } from "./support/cluster.ts";
import { type SignerSettings, startSigner } from "./support/signer-process.ts";
import { issuedBy, kidOf } from "./support/tokens.ts";

// A backend that fails, signs wrongly, or does not have a key yet.

const HOUR_MS = 3_600_000;
/** Time enough to load the configuration before, also on a busy machine. */
const DUE_MS = 6000;
const JWKS_URI = "https://keys.example/cluster/jwks";

let kms: FakeAwsKms;
let key: FakeKmsKey;
let cluster: Cluster;
let publicPort: number;
beforeAll(async () => {
  kms = await startFakeAwsKms();
  key = kms.addKey();
  publicPort = await freePort();
  const { accessKeyId, secretAccessKey } = kms.credentials;
  const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  cluster = await startCluster({
    settings: () => settings([entry("sa-1", key.keyId, -50 * HOUR_MS)]),
    start: (folder) => startSigner(folder, env),
    flags: [`--service-account-jwks-uri=${JWKS_URI}`],
  });
}, 120_000);
afterEach(() => kms.reset());
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await kms.stop();
});

interface Entry {
  readonly keyId: string;
  readonly signer: string;
  readonly announcedFrom: string;
  readonly activeFrom: string;
}

/** A key that signs from this many milliseconds on, counted from now, and was announced 3 h before. */
function entry(keyId: string, id: string, activeInMs: number): Entry {
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  return {
    keyId,
    signer: `awskms://127.0.0.1:${kms.port}/${id}?region=${kms.region}`,
    announcedFrom: at(activeInMs - 3 * HOUR_MS),
    activeFrom: at(activeInMs),
  };
}

function settings(entries: readonly Entry[]): SignerSettings {
  return {
    issuer: KUBE_ISSUER,
    maxTokenLifetimeSeconds: 3600,
    refreshHintSeconds: 1,
    schedule: { announceHours: 2, sharedCaches: false, entries },
    publicJwks: { host: "127.0.0.1", port: publicPort },
  };
}

test.each(["bad-signature", "foreign-signature", "malformed-signature", "wrong-key", "corrupted"] as const)(
  "a signature that is not right does not leave as a token: %s",
  async (fault) => {
    kms.faults.on(fault, "Sign");
    const { status, token, message } = await cluster.kube.requestToken();
    expect({ status, token }).toEqual({ status: 500, token: "" });
    // The requester sees a code, and nothing of the backend.
    expect(message).toMatch(/failed to generate token: .*desc = [a-z_]+$/);
    kms.reset();
    await expect.poll(() => cluster.kube.requestToken(), { timeout: 20_000 }).toMatchObject({ status: 201 });
  },
);

test("while the backend is away, tokens are accepted and the keys stay published", async () => {
  const { kube } = cluster;
  const token = await issuedBy(kube);
  await kms.goAway();
  expect(await kube.requestToken()).toMatchObject({ status: 500, token: "" });
  expect(await kube.reviewToken(token)).toMatchObject({ authenticated: true });
  expect([...(await kube.publishedKeys()).keys()]).toEqual(["sa-1"]);
  expect(await kube.isReady()).toBe(true);
  await kms.comeBack();
  await expect.poll(() => kube.requestToken(), { timeout: 20_000 }).toMatchObject({ status: 201 });
});

test("a public issuer has the keys that kube-apiserver publishes, at the URL that it names", async () => {
  const { kube } = cluster;
  expect(await kube.discovery()).toMatchObject({ issuer: KUBE_ISSUER, jwks_uri: JWKS_URI });
  const answer = await fetch(`http://127.0.0.1:${publicPort}/openid/v1/jwks`);
  const { keys } = (await answer.json()) as { readonly keys: readonly Readonly<Record<string, string>>[] };
  expect(new Map(keys.map((each) => [each["kid"], each]))).toEqual(await kube.publishedKeys());
});

test("a key that is due and cannot be opened yet stops nothing, and signs once it is there", async () => {
  const { kube, folder, reload } = cluster;
  const later = randomUUID();
  const due = Date.now() + DUE_MS;
  await folder.configure(settings([entry("sa-1", key.keyId, -50 * HOUR_MS), entry("sa-2", later, DUE_MS)]));
  await reload();
  await delay(due + 500 - Date.now());
  await expect.poll(() => folder.metrics(), { timeout: 20_000 }).toMatch(/^signpost_kubernetes_keys_unopened 1$/m);
  const before = await issuedBy(kube);
  expect(kidOf(before)).toBe("sa-1");
  kms.addKey({ keyId: later });
  await expect.poll(async () => kidOf(await issuedBy(kube)), { timeout: 45_000, interval: 200 }).toBe("sa-2");
  expect(await kube.reviewToken(before)).toMatchObject({ authenticated: true });
  expect([...(await kube.publishedKeys()).keys()].toSorted()).toEqual(["sa-1", "sa-2"]);
});
