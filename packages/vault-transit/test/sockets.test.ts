import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import { Agent } from "undici";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { openVaultTransitSigner, type VaultTransitSignerOptions } from "@signpost/vault-transit";
import { startFakeVaultTransit, type FakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { rejection, signsTruly } from "./support/signatures.ts";

const DIGEST = new Uint8Array(32).fill(7);
let fake: FakeVaultTransit;
beforeAll(async () => {
  fake = await startFakeVaultTransit();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await vi.waitUntil(() => fake.sockets.open === 0);
  fake.reset();
});
afterAll(() => fake.stop());

/** With a token from a function, which is not looked up. */
const options = (): Pick<VaultTransitSignerOptions, "address" | "key" | "auth"> => ({
  address: fake.address,
  key: "op",
  auth: { method: "token", token: () => fake.token },
});

test("two connections serve all calls that follow each other, and closing ends them", async () => {
  const before = fake.sockets.total;
  const signer = await openVaultTransitSigner(options());
  for (let count = 0; count < 20; count += 1) expect(await signsTruly(signer)).toBe(true);
  // undici uses a connection again in the next turn of the event loop.
  expect(fake.sockets.total - before).toBeLessThanOrEqual(2);
  await signer.close();
});

test("there are as many connections as the guard allows calls, and two more", async () => {
  await using signer = await openVaultTransitSigner({ ...options(), policy: { concurrency: 20 } });
  fake.faults.latencyMs = 20;
  await Promise.all(Array.from({ length: 200 }, () => signer.sign(DIGEST)));
  expect(fake.sockets.highest).toBeLessThanOrEqual(22);
});

test("there are at most 256 for a bare signer", async () => {
  const signer = await openVaultTransitSigner({ ...options(), policy: false });
  fake.faults.latencyMs = 50;
  const calls = await Promise.all(Array.from({ length: 400 }, () => signer.sign(DIGEST)));
  expect(calls).toHaveLength(400);
  expect(fake.sockets.highest).toBeLessThanOrEqual(256);
  await signer.close();
});

/** Until undici uses a connection again. */
const untilIdle = (): Promise<void> => delay(50);

test("connections that a firewall forgot cost one attempt, and not one for each", async () => {
  const policy = { attemptTimeoutMs: 500, maxAttempts: 2, deadlineMs: 10_000 };
  await using signer = await openVaultTransitSigner({ ...options(), policy });
  fake.faults.latencyMs = 20;
  await Promise.all(Array.from({ length: 10 }, () => signer.sign(DIGEST)));
  fake.forgetConnections();
  await untilIdle();
  const attempts: number[] = [];
  const listen = (event: unknown): void => void attempts.push((event as { attempts: number }).attempts);
  subscribe("signpost:sign", listen);
  expect(await signsTruly(signer)).toBe(true);
  const others = await Promise.all(Array.from({ length: 9 }, () => signsTruly(signer)));
  unsubscribe("signpost:sign", listen);
  expect(others).toEqual(Array.from({ length: 9 }, () => true));
  expect(attempts).toEqual([2, ...others.map(() => 1)]);
});

test("a frozen process does not use its old connections", async () => {
  const signer = await openVaultTransitSigner({ ...options(), policy: false });
  fake.forgetConnections();
  await untilIdle();
  vi.spyOn(Date, "now").mockReturnValue(Date.now() + 20_001);
  expect(await signsTruly(signer)).toBe(true);
  await signer.close();
});

test("a caller that gives up does not end the other calls", async () => {
  const signer = await openVaultTransitSigner({ ...options(), policy: false });
  fake.faults.latencyMs = 100;
  const controller = new AbortController();
  const aborted = rejection(signer.sign(DIGEST, { signal: controller.signal }));
  const other = signsTruly(signer);
  controller.abort();
  expect(await aborted).toMatchObject({ code: "aborted" });
  expect(await other).toBe(true);
  await signer.close();
});

test("an undici dispatcher of the caller is used, and stays open", async () => {
  const dispatcher = new Agent({ connections: 1 });
  const dispatch = vi.spyOn(dispatcher, "dispatch");
  for (let count = 0; count < 2; count += 1) {
    const signer = await openVaultTransitSigner({ ...options(), dispatcher });
    expect(await signsTruly(signer)).toBe(true);
    fake.replyNext({ status: 200, body: "x".repeat(70_000) });
    expect(String(await rejection(signer.sign(DIGEST)))).toContain("the answer has more than 65536 bytes");
    fake.replyNext({ status: 200, body: "", ending: "hang" });
    const controller = new AbortController();
    const before = fake.requests.length;
    const hung = rejection(signer.sign(DIGEST, { signal: controller.signal }));
    await vi.waitUntil(() => fake.requests.length > before);
    controller.abort();
    expect(await hung).toMatchObject({ code: "aborted" });
    expect(await signsTruly(signer)).toBe(true);
    await signer.close();
  }
  expect(dispatch.mock.calls.length).toBe(fake.requests.length);
  await dispatcher.close();
});

test("a restart of the server costs no call", async () => {
  await using signer = await openVaultTransitSigner(options());
  expect(await signsTruly(signer)).toBe(true);
  await fake.goAway();
  await fake.comeBack();
  expect(await signsTruly(signer)).toBe(true);
});
