import { createHash, createPublicKey, verify } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createKeySet, createLimiter, signWith } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { provideCredentials } from "./environment.ts";

const SIGNATURES = 500;
const CONCURRENCY = 64;

const fake = await startFakeAwsKms();
const key = fake.addKey();

beforeAll(() => provideCredentials(fake.credentials));
afterAll(() => fake.stop());

describe("500 signatures at once", () => {
  test("each are over their own input, through 64 sockets, without a word from the SDK", async () => {
    const warnings: unknown[] = [];
    // The SDK warns of queues at its sockets through the console.
    const spy = vi.spyOn(console, "warn").mockImplementation((...words) => void warnings.push(words));
    process.on("warning", (warning) => warnings.push(warning));
    await using signer = await openAwsKmsSigner({
      key: key.arn,
      endpoint: fake.endpoint,
      policy: { concurrency: CONCURRENCY, deadlineMs: 60_000, attemptTimeoutMs: 30_000 },
    });
    fake.faults.latencyMs = 25;
    warnings.length = 0;

    const { active } = createKeySet([{ signer }]);
    const inputs = Array.from({ length: SIGNATURES }, (_, index) => Buffer.from(`input ${index}`));
    const signatures = await Promise.all(inputs.map((input) => signWith(active, input)));

    const publicKey = createPublicKey({ key: { ...signer.publicKey }, format: "jwk" });
    const good = inputs.filter((input, index) =>
      verify("sha256", input, { key: publicKey, dsaEncoding: "ieee-p1363" }, signatures[index] ?? Buffer.alloc(64)),
    );
    spy.mockRestore();
    expect(good).toHaveLength(SIGNATURES);
    expect(new Set(signatures.map((signature) => Buffer.from(signature).toString("hex"))).size).toBe(SIGNATURES);
    expect(fake.requests.filter(({ operation }) => operation === "Sign")).toHaveLength(SIGNATURES);
    expect(fake.sockets.highest).toBe(CONCURRENCY);
    expect(fake.sockets.total).toBe(CONCURRENCY);
    expect(warnings).toEqual([]);
  });

  test("are bounded by a shared limiter alone, however many it lets through", async () => {
    const limiter = createLimiter({ concurrency: 150, maxQueue: 1000 });
    const policy = { limiter, deadlineMs: 60_000, attemptTimeoutMs: 30_000 };
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy });
    await vi.waitUntil(() => fake.sockets.open === 1);
    fake.faults.on("hang");
    const controller = new AbortController();
    const digest = new Uint8Array(32);
    const { signal } = controller;
    const signing = Promise.allSettled(Array.from({ length: 200 }, () => signer.sign(digest, { signal })));
    await vi.waitUntil(() => fake.sockets.open === 150, { timeout: 20_000 });
    expect(limiter.queued).toBe(50);
    controller.abort();
    await signing;
    fake.reset();
  });

  test("wait in a queue of ours where there are more than slots, and reject when it is full", async () => {
    await using signer = await openAwsKmsSigner({
      key: key.arn,
      endpoint: fake.endpoint,
      policy: { concurrency: 2, maxQueue: 8, deadlineMs: 60_000, attemptTimeoutMs: 30_000 },
    });
    const digest = createHash("sha256").update("x").digest();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => signer.sign(digest)));
    const codes = results.flatMap((result) =>
      result.status === "rejected" ? [result.reason as { code: string }] : [],
    );
    expect(codes).toHaveLength(10);
    for (const { code } of codes) expect(code).toBe("overloaded");
  });
});
