import { createHash, randomBytes, verify } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createLimiter, failoverSigner, guardSigner } from "@signpost/core";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { type GeneratedKey, type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { createOpener } from "./support/signing.ts";

const opener = createOpener();
let hsm: SoftHsm;
let keys: readonly GeneratedKey[];

beforeAll(async () => {
  hsm = await startSoftHsm();
  keys = [await hsm.generateKey({ label: "a", id: "01" }), await hsm.generateKey({ label: "b", id: "02" })];
});
afterAll(() => hsm.stop());
afterEach(() => opener.closeAll());

test("signers of several keys share one limiter", async () => {
  const limiter = createLimiter({ concurrency: 1, maxQueue: 20 });
  const base = { module: hsm.module, token: hsm.tokenLabel, pin: hsm.pin, policy: { limiter } };
  const signers = [await opener.open({ ...base, object: "a" }), await opener.open({ ...base, object: "b" })];
  const signing = Array.from({ length: 20 }, async (_, index) => {
    const message = randomBytes(100);
    const signature = await signers[index % 2]?.sign(createHash("sha256").update(message).digest());
    const key = keys[index % 2]?.publicKey;
    if (key === undefined || signature === undefined) throw new Error("expected two keys");
    return verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature);
  });
  expect({ active: limiter.active, queued: limiter.queued }).toEqual({ active: 1, queued: 19 });
  expect(await Promise.all(signing)).toEqual(Array.from({ length: 20 }, () => true));
});

test("a policy that cannot work is refused before the module is asked for anything", async () => {
  const opening = openPkcs11Signer({
    module: hsm.module,
    token: "no such token",
    object: "a",
    pin: hsm.pin,
    policy: { maxAttempts: 0 },
  });
  await expect(opening).rejects.toMatchObject({ argument: "policy.maxAttempts" });
});

test("hedges are refused for the bare signer too, alone and in a failover", async () => {
  const base = { module: hsm.module, token: hsm.tokenLabel, pin: hsm.pin, object: "a" };
  const bare = await openPkcs11Signer({ ...base, policy: false });
  const refusal = expect.objectContaining({
    argument: "policy.hedgeAfterMs",
    message: expect.stringContaining("C_Sign"),
  });
  expect(() => guardSigner(bare, { hedgeAfterMs: 100 })).toThrow(refusal);
  expect(() => guardSigner(failoverSigner([bare]), { hedgeAfterMs: 100 })).toThrow(refusal);
  await bare.close();
});
