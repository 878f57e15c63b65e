import { type FakeAwsKms, type FakeKmsKey, startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { KUBE_ISSUER } from "@signpost/test-backends/kube-apiserver";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Cluster, startCluster } from "./support/cluster.ts";
import { type SignerFolder, type SignerSettings, startSigner } from "./support/signer-process.ts";
import { issuedBy, kidOf } from "./support/tokens.ts";

// A backend that fails, signs wrongly, or does not have a key yet.

const JWKS_URI = "https://keys.example/cluster/jwks";

let kms: FakeAwsKms;
let key: FakeKmsKey;
let cluster: Cluster;
beforeAll(async () => {
  kms = await startFakeAwsKms();
  key = kms.addKey();
  const { accessKeyId, secretAccessKey } = kms.credentials;
  const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  cluster = await startCluster({
    settings: (folder) => settings(folder, uriOf(key.keyId)),
    start: (folder) => startSigner(folder, env),
    flags: [`--service-account-jwks-uri=${JWKS_URI}`],
  });
}, 120_000);
afterEach(() => kms.reset());
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await kms.stop();
});

function uriOf(keyId: string): string {
  return `awskms://127.0.0.1:${kms.port}/${keyId}?region=${kms.region}`;
}

function settings(_folder: SignerFolder, ...uris: readonly string[]): SignerSettings {
  return {
    issuer: KUBE_ISSUER,
    maxTokenLifetimeSeconds: 3600,
    refreshHintSeconds: 1,
    keys: uris.map((uri, index) => ({ keyId: `sa-${index + 1}`, uri })),
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

test("the discovery document names the URL of one's own", async () => {
  expect(await cluster.kube.discovery()).toMatchObject({ issuer: KUBE_ISSUER, jwks_uri: JWKS_URI });
});
