import { expect, onTestFinished, test } from "vitest";
import {
  createLimiter,
  failoverSigner,
  guardSigner,
  type GuardedSigner,
  type GuardPolicy,
  type Signer,
} from "@signpost/core";
import { openAzureKeyVaultSigner, type AzureKeyVaultApi } from "@signpost/azure-key-vault";
import {
  createKeyMaterial,
  startFakeAzureKeyVault,
  type FakeAzureKeyVault,
} from "@signpost/test-backends/fake-azure-key-vault";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, STEADY } from "./support/vault-fixture.ts";

const { x, y } = createKeyMaterial();
const publicKey = { kty: "EC", crv: "P-256", x, y } as const;

/** A key of a vault whose answers come at once, so that only the limits decide how many calls pass. */
function openIn(host: string, policy: GuardPolicy, { key = "op", fails = 0 } = {}): Promise<GuardedSigner> {
  const [keyVersion, value] = ["0".repeat(32), Buffer.alloc(64, 1).toString("base64url")];
  let failures = fails;
  const api: AzureKeyVaultApi = {
    getKey: () => Promise.reject(new Error("not reached")),
    listKeyVersions: () => Promise.reject(new Error("not reached")),
    sign: async () => {
      failures -= 1;
      if (failures >= 0) throw Object.assign(new Error("made up"), { statusCode: 503 });
      return { kid: `https://${host}/keys/${key}/${keyVersion}`, value };
    },
  };
  return openAzureKeyVaultSigner({ vault: host, key, keyVersion, publicKey, api, policy });
}

/** Makes this many calls at once, in turn with each signer, and says how many could get no permit before their deadline. */
async function refusalsOf(signers: readonly Signer[], count: number): Promise<number> {
  const rounds = Array.from({ length: count / signers.length }, () => signers);
  const outcomes = await Promise.allSettled(rounds.flat().map((signer) => signer.sign(DIGEST)));
  return outcomes.filter((outcome) => outcome.status === "rejected" && outcome.reason.code === "overloaded").length;
}

/** What a vault allows at once: a tenth of 2,000. */
const BURST = 200;
/** In a second come 180 more permits. Whether there will be one is known when a call is made, so no clock matters. */
const SECOND = { deadlineMs: 1000, attemptTimeoutMs: 1000, concurrency: 1000, maxQueue: 10_000 };

test("all signers of a vault share its rate, also of several keys", async () => {
  const one = await openIn("shared.vault.azure.net", SECOND);
  const two = await openIn("shared.vault.azure.net", SECOND, { key: "other" });
  // A limiter for each signer would let all of these pass.
  expect(await refusalsOf([one, two], 3 * BURST)).toBeGreaterThan(BURST / 2);
});

test("as many calls may go unanswered as the signer allows at once", async () => {
  let calls = 0;
  const api: AzureKeyVaultApi = {
    getKey: () => Promise.reject(new Error("not reached")),
    listKeyVersions: () => Promise.reject(new Error("not reached")),
    sign: () => ((calls += 1), new Promise(() => {})),
  };
  const named = { vault: "silent.vault.azure.net", key: "op", keyVersion: "0".repeat(32) };
  const policy = { concurrency: 20, attemptTimeoutMs: 10, maxAttempts: 1 };
  const signer = await openAzureKeyVaultSigner({ ...named, publicKey, api, policy });
  // More than the 16 of a limiter whose concurrency is not known.
  for (let call = 0; call < 20; call += 1) await rejection(signer.sign(DIGEST));
  expect(calls).toBe(20);
});

test("another vault has its rate for itself, and a Managed HSM has none", async () => {
  const one = await openIn("first.vault.azure.net", SECOND);
  const two = await openIn("second.vault.azure.net", SECOND);
  expect(await refusalsOf([one, two], 3 * BURST)).toBe(0);
  const hsm = await openIn("op.managedhsm.azure.net", SECOND);
  expect(await refusalsOf([hsm], 5 * BURST)).toBe(0);
});

test("calls within the deadline wait for their permit", async () => {
  const signer = await openIn("patient.vault.azure.net", { deadlineMs: 20_000, concurrency: 1000 });
  expect(await refusalsOf([signer], BURST + 20)).toBe(0);
});

test("a limiter of the caller replaces the shared rate", async () => {
  const limiter = createLimiter({ rate: { permits: 10, perSeconds: 3600, burst: 10 }, maxQueue: 100 });
  const policy = { limiter, deadlineMs: 5000 };
  const one = await openIn("mine.vault.azure.net", policy);
  const two = await openIn("mine.vault.azure.net", policy);
  expect(await refusalsOf([one, two], 14)).toBe(4);
});

test("each attempt takes a permit, so that retries count", async () => {
  const limiter = createLimiter({ rate: { permits: 3, perSeconds: 3600, burst: 3 }, maxQueue: 100 });
  const policy = { limiter, maxAttempts: 3, deadlineMs: 10_000 };
  const signer = await openIn("retried.vault.azure.net", policy, { fails: 2 });
  expect(await signer.sign(DIGEST)).toHaveLength(64);
  expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "overloaded" });
});

test("a signer still keeps its own concurrency and queue", async () => {
  const signer = await openIn("own.vault.azure.net", { concurrency: 1, maxQueue: 1 });
  const outcomes = await Promise.allSettled([0, 1, 2].map(() => signer.sign(DIGEST)));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
  expect(outcomes[2]).toMatchObject({ reason: { code: "overloaded" } });
});

test("a call that is aborted while it waits for a permit gives its slot back", async () => {
  const signer = await openIn("aborted.vault.azure.net", { concurrency: BURST + 1, deadlineMs: 20_000 });
  await refusalsOf([signer], BURST);
  const controller = new AbortController();
  const calls = Array.from({ length: BURST }, () => signer.sign(DIGEST, { signal: controller.signal }));
  controller.abort();
  const outcomes = await Promise.allSettled(calls);
  expect(outcomes.some(({ status }) => status === "rejected")).toBe(true);
  expect(await signer.sign(DIGEST)).toHaveLength(64);
});

test("closing a signer leaves the rate of the vault as it is", async () => {
  const one = await openIn("closed.vault.azure.net", SECOND);
  await refusalsOf([one], BURST);
  await one.close();
  const two = await openIn("closed.vault.azure.net", SECOND);
  expect(await refusalsOf([two], 3 * BURST)).toBeGreaterThan(BURST);
});

/** Two vaults, with the same key imported into both. */
async function startPair(): Promise<readonly [FakeAzureKeyVault, FakeAzureKeyVault]> {
  const material = createKeyMaterial();
  const pair = [await startFakeAzureKeyVault(), await startFakeAzureKeyVault()] as const;
  onTestFinished(async () => {
    await Promise.all(pair.map((each) => each.stop()));
  });
  for (const each of pair) each.addKey("op", { material });
  return pair;
}

const bareIn = ({ url, entra, caFile }: FakeAzureKeyVault): Promise<Signer> => {
  const tls = { caFile };
  return openAzureKeyVaultSigner({ vault: url, key: "op", credential: entra.credential, tls, policy: false });
};

test("two vaults with the same imported key are one signer, which survives the loss of the first", async () => {
  const [first, second] = await startPair();
  const places = [await bareIn(first), await bareIn(second)];
  expect(places[0]?.publicKey).toEqual(places[1]?.publicKey);
  expect(places[0]?.uri).not.toBe(places[1]?.uri);
  await using signer = guardSigner(failoverSigner(places), STEADY);
  expect(await signsTruly(signer)).toBe(true);
  await first.goAway();
  expect(await signsTruly(signer)).toBe(true);
  expect(signer.health()).toMatchObject({ status: "degraded" });
  await first.comeBack();
});

test("a vault over its limit sends the next attempt to the other one", async () => {
  const [first, second] = await startPair();
  await using signer = guardSigner(failoverSigner([await bareIn(first), await bareIn(second)]), STEADY);
  first.faults.on("throttle", "sign");
  for (let count = 0; count < 5; count += 1) expect(await signsTruly(signer)).toBe(true);
  const signs = (vault: FakeAzureKeyVault): number =>
    vault.faults.calls.filter(({ operation }) => operation === "sign").length;
  // The first call moved on, and the others stayed.
  expect([signs(first), signs(second)]).toEqual([1, 5]);
});

test("two vaults with different keys are refused", async () => {
  const [first, second] = await startPair();
  second.addKey("op");
  const places = [await bareIn(first), await bareIn(second)];
  onTestFinished(async () => {
    await Promise.all(places.map((place) => place.close()));
  });
  expect(() => failoverSigner(places)).toThrow(/publicKey|public key/);
});
