import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { vaultTransitKeys, type VaultTransitKeys } from "@signpost/vault-transit";
import { startFakeVaultTransit, type FakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { rejection } from "./support/signatures.ts";

let fake: FakeVaultTransit;
beforeAll(async () => {
  fake = await startFakeVaultTransit();
});
afterEach(() => fake.reset());
afterAll(() => fake.stop());

const open = (): Promise<VaultTransitKeys> =>
  vaultTransitKeys({ address: fake.address, key: "op", auth: { method: "token", token: fake.token } });

const callsTo = (path: string): number => fake.requests.filter((request) => request.path === path).length;

describe("closing while the versions are read again", () => {
  test("ends that at once, as closed", async () => {
    const keys = await open();
    fake.faults.latencyMs = 3000;
    const refreshing = rejection(keys.refresh());
    await vi.waitFor(() => expect(callsTo("transit/keys/op")).toBe(2));
    const startedAt = performance.now();
    await keys.close();
    expect(await refreshing).toMatchObject({ code: "closed" });
    expect(performance.now() - startedAt).toBeLessThan(2500);
    expect(callsTo("transit/keys/op")).toBe(2);
  });

  test("leaves no signer open that was found by then", async () => {
    const { publicKey } = fake;
    const keys = await open();
    const { versions } = keys;
    fake.changes = {
      keys: Object.fromEntries(
        [1, 2].map((n) => [n, { public_key: publicKey, creation_time: "2026-01-01T00:00:00Z" }]),
      ),
      latest_version: 2,
    };
    const refreshing = rejection(keys.refresh());
    await keys.close();
    expect(await refreshing).toMatchObject({ code: "closed" });
    expect(keys.versions).toBe(versions);
  });
});

test("an imported version signs once to show its private half, and not again at each refresh", async () => {
  fake.changes = { imported_key: true };
  await using keys = await open();
  for (let count = 0; count < 3; count += 1) expect(await keys.refresh()).toBe(false);
  expect(callsTo("transit/sign/op/sha2-256")).toBe(1);
});
