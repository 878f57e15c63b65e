import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { type FakeGcpKms, startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { CLIENTS } from "./support/clients.ts";
import { signsTruly } from "./support/signatures.ts";

let fake: FakeGcpKms;

beforeAll(async () => {
  fake = await startFakeGcpKms();
});
afterEach(() => fake.faults.clear());
afterAll(() => fake.stop());

test.each(CLIENTS)("over $label, a call that hangs gets a hedge, and all others one call", async ({ connect }) => {
  const client = connect(fake);
  const { name: keyVersion } = fake.addVersion();
  const signer = await openGcpKmsSigner({ keyVersion, client, policy: { hedgeAfterMs: 60 } });
  for (let made = 0; made < 20; made += 1) await signer.sign(randomBytes(32));
  fake.faults.clear();
  fake.faults.next("hang", 1, "AsymmetricSign");
  expect(await signsTruly(signer)).toBe(true);
  await signer.sign(randomBytes(32));
  expect(fake.faults.calls.filter(({ operation }) => operation === "AsymmetricSign")).toHaveLength(3);
  expect(signer.health()).toMatchObject({ status: "ready" });
  expect(signer.health().notes.join()).toContain("hedged 1 of 22 calls; the hedge answered first in 1");
  await signer.close();
  await client.close();
});
