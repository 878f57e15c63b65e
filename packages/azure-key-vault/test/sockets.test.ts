import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createLimiter, type GuardedSigner } from "@signpost/core";
import { openAzureKeyVaultSigner, type AzureKeyVaultSignerOptions } from "@signpost/azure-key-vault";
import { startFakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, STEADY } from "./support/vault-fixture.ts";

const fake = await startFakeAzureKeyVault();
afterEach(async () => {
  vi.restoreAllMocks();
  await vi.waitUntil(() => fake.sockets.open === 0, { timeout: 10_000 });
  fake.reset();
});
afterAll(() => fake.stop());

const options = (): Omit<AzureKeyVaultSignerOptions, "policy"> => ({
  vault: fake.url,
  key: "op",
  credential: fake.entra.credential,
  tls: { caFile: fake.caFile },
});
const openSteady = (others: Partial<AzureKeyVaultSignerOptions> = {}): Promise<GuardedSigner> =>
  openAzureKeyVaultSigner({ ...options(), ...others, policy: { ...STEADY, ...others.policy } });

test("two connections serve all calls that follow each other, and closing ends them", async () => {
  const before = fake.sockets.total;
  const signer = await openSteady();
  for (let count = 0; count < 20; count += 1) expect(await signsTruly(signer)).toBe(true);
  // undici uses a connection again in the next turn of the event loop.
  expect(fake.sockets.total - before).toBeLessThanOrEqual(2);
  await signer.close();
});

test("there are at most 64 for a bare signer", async () => {
  const signer = await openAzureKeyVaultSigner({ ...options(), policy: false });
  fake.faults.latencyMs = 20;
  // On a busy machine, some of these time out.
  await Promise.allSettled(Array.from({ length: 150 }, () => signer.sign(DIGEST)));
  expect(fake.sockets.highest).toBeLessThanOrEqual(64);
  await signer.close();
});

test("there are as many connections as the guard allows calls", async () => {
  await using signer = await openSteady({ policy: { concurrency: 20 } });
  fake.faults.latencyMs = 20;
  await Promise.all(Array.from({ length: 100 }, () => signer.sign(DIGEST)));
  expect(fake.sockets.highest).toBeLessThanOrEqual(20);
});

/** Until undici uses a connection again. */
const untilIdle = (): Promise<void> => delay(50);

test("connections that a firewall forgot cost one attempt, and not one for each", async () => {
  const limiter = createLimiter({ concurrency: 16, maxQueue: 100 });
  const policy = { attemptTimeoutMs: 1000, maxAttempts: 20, deadlineMs: 60_000, limiter };
  await using signer = await openAzureKeyVaultSigner({ ...options(), policy });
  fake.faults.latencyMs = 20;
  await Promise.all(Array.from({ length: 10 }, () => signer.sign(DIGEST)));
  fake.forgetConnections();
  await untilIdle();
  const before = fake.sockets.lost;
  expect(await signsTruly(signer)).toBe(true);
  await Promise.all(Array.from({ length: 9 }, () => signer.sign(DIGEST)));
  expect(fake.sockets.lost - before).toBe(1);
});

test("a frozen process does not use its old connections", async () => {
  const signer = await openAzureKeyVaultSigner({ ...options(), policy: false });
  fake.forgetConnections();
  await untilIdle();
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 20_001);
  expect(await signsTruly(signer)).toBe(true);
  await signer.close();
});

test("a caller that gives up does not end the other calls", async () => {
  const signer = await openAzureKeyVaultSigner({ ...options(), policy: false });
  fake.faults.latencyMs = 100;
  const controller = new AbortController();
  const aborted = rejection(signer.sign(DIGEST, { signal: controller.signal }));
  const other = signsTruly(signer);
  controller.abort();
  expect(await aborted).toMatchObject({ code: "aborted" });
  expect(await other).toBe(true);
  await signer.close();
});

test("a restart of the other side costs no call", async () => {
  await using signer = await openSteady();
  expect(await signsTruly(signer)).toBe(true);
  await fake.goAway();
  await fake.comeBack();
  expect(await signsTruly(signer)).toBe(true);
});

test("an undici dispatcher of the caller is used, and stays open", async () => {
  const dispatcher = fake.dispatcher();
  const dispatch = vi.spyOn(dispatcher, "dispatch");
  for (let count = 0; count < 2; count += 1) {
    const signer = await openSteady({ tls: undefined, dispatcher });
    expect(await signsTruly(signer)).toBe(true);
    await signer.close();
  }
  expect(dispatch.mock.calls.length).toBe(fake.requests.length);
  await dispatcher.close();
});

test("a file of certificates is read again for each connection, and its absence fails only an attempt", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-azure-ca-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const caFile = join(folder, "ca.pem");
  const certificates = await readFile(fake.caFile, "utf8");
  await writeFile(caFile, certificates);
  const { version: keyVersion, material } = fake.key.latest;
  const publicKey = { kty: "EC", crv: "P-256", x: material.x, y: material.y } as const;
  const given = { keyVersion, publicKey, tls: { caFile }, policy: { maxAttempts: 1 } };
  const signer = await openSteady(given);
  await rm(caFile);
  const error = await rejection(signer.sign(DIGEST));
  expect(error).toMatchObject({ code: "unavailable", transient: true });
  expect(String(error)).toContain("tls.caFile");
  expect(String(error)).not.toContain(folder);
  await writeFile(caFile, certificates);
  expect(await signsTruly(signer)).toBe(true);
  await signer.close();
});

test.each([
  ["no certificate", "hello"],
  ["a broken certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
])("a file with %s is refused when the signer opens", async (_what, content) => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-azure-ca-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const caFile = join(folder, "ca.pem");
  await writeFile(caFile, content);
  const error = await rejection(openSteady({ tls: { caFile } }));
  expect(error).toMatchObject({ argument: "tls.caFile" });
  expect(String(error)).not.toContain(folder);
});

test("a server name stands in for the host of the vault", async () => {
  const tls = { caFile: fake.caFile, serverName: "wrong.example" };
  const error = await rejection(openSteady({ tls, policy: { maxAttempts: 1 } }));
  expect(String(error)).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
  const named = { caFile: fake.caFile, serverName: "op.vault.azure.net" };
  await using signer = await openSteady({ tls: named });
  expect(await signsTruly(signer)).toBe(true);
});
