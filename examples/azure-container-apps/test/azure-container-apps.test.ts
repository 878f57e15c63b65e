import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startFakeAzureKeyVault, type FakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";
import { openLiveKeys } from "../src/live-keys.ts";
import { readSettings } from "../src/settings.ts";

// The program with its server is started by test/e2e/example-azure-container-apps.test.ts.

let fake: FakeAzureKeyVault;
beforeAll(async () => {
  fake = await startFakeAzureKeyVault();
});
afterEach(() => fake.reset());
afterAll(() => fake.stop());

test("a version that the rotation policy makes is in the next schedule", async () => {
  fake.key.latest.attributes.created -= 86_400;
  const key = `${fake.url}/keys/op`;
  const tls = { caFile: fake.caFile };
  const keys = await openLiveKeys({ key, credential: fake.entra.credential, tls }, 20);
  const before = keys.schedule();
  fake.key.rotate();
  await expect.poll(keys.schedule, { timeout: 10_000 }).not.toBe(before);
  expect(keys.schedule().keySet().keys).toHaveLength(1);
  await keys.close();
});

describe("settings", () => {
  const env = { ISSUER: "https://op.example", KEY: "https://op.vault.azure.net/keys/op" };

  test("have defaults, also for empty variables", () => {
    const empty = { SIGNATURES_PER_SECOND: "", REFRESH_SECONDS: "", PORT: "" };
    expect(readSettings({ ...env, ...empty })).toEqual(readSettings(env));
    expect(readSettings(env)).toMatchObject({ signaturesPerSecond: 50, refreshMs: 60_000, port: 3000 });
  });

  test("are required where there is no default, and checked", () => {
    expect(() => readSettings({ ISSUER: "https://op.example" })).toThrow("KEY is not set");
    expect(() => readSettings({ ...env, PORT: "http" })).toThrow("PORT is not a number up to 65535: http");
  });
});
