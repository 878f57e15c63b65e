import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { guardSigner } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { provideCredentials } from "./environment.ts";

const fake = await startFakeAwsKms();
const key = fake.addKey();
const policy = { hedgeAfterMs: 60 };
const digest = randomBytes(32);

beforeAll(() => provideCredentials(fake.credentials));
afterAll(() => fake.stop());

test.each([
  ["opened with the policy", () => openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy })],
  [
    "guarded later",
    async () => guardSigner(await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: false }), policy),
  ],
])("a signer %s sends a hedge for a call that hangs, and one request for all others", async (_how, open) => {
  await using signer = await open();
  for (let made = 0; made < 20; made += 1) await signer.sign(digest);
  fake.reset();
  fake.faults.next("hang", 1, "Sign");
  const input = randomBytes(40);
  const signature = await signer.sign(createHash("sha256").update(input).digest());
  const publicKey = createPublicKey({ key: { ...signer.publicKey }, format: "jwk" });
  expect(verify("sha256", input, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
  await signer.sign(digest);
  expect(fake.requests.filter(({ operation }) => operation === "Sign")).toHaveLength(3);
  expect(signer.health()).toMatchObject({ status: "ready" });
  expect(signer.health().notes.join()).toContain("hedged 1 of 22 calls; the hedge answered first in 1");
});
