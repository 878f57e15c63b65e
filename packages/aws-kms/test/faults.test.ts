import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { compactVerify, importJWK } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, signJws, signWith, SignerError, type GuardPolicy, type Signer } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms, type SignatureShape } from "@signpost/test-backends/fake-aws-kms";
import type { Fault } from "@signpost/test-backends/faults";
import { clientOf, provideCredentials } from "./environment.ts";

const fake = await startFakeAwsKms();
const key = fake.addKey();
const POLICY = { attemptTimeoutMs: 400, deadlineMs: 4_000, maxAttempts: 3 } as const satisfies GuardPolicy;
/** For what takes the fake itself some time: it looks for a signature of the wanted shape. */
const PATIENT = { attemptTimeoutMs: 20_000, deadlineMs: 40_000 } as const satisfies GuardPolicy;
/** Only catches a call that hangs: three attempts of 400 ms, the pauses between, and a busy machine. */
const TIME_BOUND_MS = 6_000;

beforeAll(() => provideCredentials(fake.credentials));
afterEach(() => {
  fake.reset();
  fake.shape = "any";
});
afterAll(() => fake.stop());

function open(policy: GuardPolicy = POLICY): Promise<Signer> {
  return openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy });
}

function entryOf(signer: Signer) {
  return createKeySet([{ signer }]).active;
}

function verifies(input: Uint8Array, signature: Uint8Array): boolean {
  const publicKey = createPublicKey({ key: { ...key.publicKey?.export({ format: "jwk" }) }, format: "jwk" });
  return verify("sha256", input, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature);
}

async function expectSignature(signer: Signer): Promise<void> {
  const input = randomBytes(40);
  expect(verifies(input, await signWith(entryOf(signer), input))).toBe(true);
}

interface Row {
  readonly fault: Fault;
  readonly code: SignerError["code"];
  /** How many times kms:Sign is asked before the caller is told. */
  readonly requests: number;
  readonly transient?: boolean;
}

const ROWS: readonly Row[] = [
  { fault: "throttle", code: "throttled", requests: 3 },
  { fault: "unavailable", code: "unavailable", requests: 3 },
  { fault: "backend-timeout", code: "timeout", requests: 3 },
  { fault: "hang", code: "timeout", requests: 3 },
  { fault: "hang-after-headers", code: "timeout", requests: 3 },
  { fault: "slow", code: "timeout", requests: 3 },
  { fault: "reset", code: "unavailable", requests: 3 },
  { fault: "html", code: "unavailable", requests: 3 },
  { fault: "truncated", code: "integrity", requests: 3, transient: true },
  { fault: "empty", code: "integrity", requests: 3, transient: true },
  { fault: "corrupted", code: "bad_signature", requests: 1 },
  { fault: "wrong-key", code: "wrong_key", requests: 1 },
  { fault: "foreign-signature", code: "bad_signature", requests: 1 },
  { fault: "bad-signature", code: "bad_signature", requests: 1 },
  { fault: "malformed-signature", code: "integrity", requests: 1, transient: false },
  { fault: "out-of-range-signature", code: "bad_signature", requests: 1 },
  { fault: "access-denied", code: "access_denied", requests: 1 },
  // Once more with renewed credentials, inside the one attempt.
  { fault: "expired-credentials", code: "access_denied", requests: 2 },
  { fault: "key-not-found", code: "key_not_found", requests: 1 },
  { fault: "key-disabled", code: "key_disabled", requests: 1 },
  { fault: "key-destroyed", code: "key_disabled", requests: 1 },
];

describe("while the fault lasts, a signature", () => {
  test.each(ROWS)("$fault is $code after $requests requests", async ({ fault, code, requests, transient }) => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: POLICY });
    fake.reset();
    fake.faults.on(fault);
    const startedAt = performance.now();
    const error = await signWith(entryOf(signer), randomBytes(40)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code, ...(transient !== undefined && { transient }) });
    expect(performance.now() - startedAt).toBeLessThan(TIME_BOUND_MS);
    expect(fake.requests.map(({ operation }) => operation)).toEqual(Array.from({ length: requests }, () => "Sign"));
    expect(signer.health()).toMatchObject({ lastCode: code });

    fake.faults.off(fault);
    await expectSignature(signer);
    expect(signer.health().status).toBe("ready");
  });
});

describe("a burst that is shorter than the attempts", () => {
  const passing = ROWS.filter(({ requests }) => requests === 3);
  test.each(passing)("of $fault is not seen by the caller", async ({ fault }) => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: POLICY });
    fake.reset();
    fake.faults.next(fault, 2);
    await expectSignature(signer);
    expect(fake.requests).toHaveLength(3);
  });

  test("throttling of every third request is not seen by forty callers at once", async () => {
    await using signer = await openAwsKmsSigner({
      key: key.arn,
      endpoint: fake.endpoint,
      policy: { ...POLICY, attemptTimeoutMs: 10_000, deadlineMs: 30_000, maxAttempts: 10 },
    });
    fake.reset();
    fake.faults.every(3, "throttle");
    await Promise.all(Array.from({ length: 40 }, () => expectSignature(signer)));
    // 59 less every third one is 40.
    expect(fake.requests).toHaveLength(59);
  });
});

describe("opening", () => {
  test.each<[Fault, string, number]>([
    ["throttle", "throttled", 3],
    ["unavailable", "unavailable", 3],
    ["reset", "unavailable", 3],
    ["truncated", "integrity", 3],
    ["empty", "integrity", 3],
    ["hang", "timeout", 3],
    ["corrupted", "integrity", 1],
    ["wrong-key", "wrong_key", 1],
    ["unsupported-key", "unsupported_key", 1],
    ["access-denied", "access_denied", 1],
    ["key-not-found", "key_not_found", 1],
    ["key-destroyed", "key_disabled", 1],
  ])("while %s is %s after %i requests", async (fault, code, requests) => {
    fake.faults.on(fault);
    const startedAt = performance.now();
    await expect(open()).rejects.toMatchObject({ name: "SignerError", code });
    expect(performance.now() - startedAt).toBeLessThan(TIME_BOUND_MS);
    expect(fake.requests).toHaveLength(requests);
  });

  test("lives through a burst", async () => {
    fake.faults.next("throttle", 2);
    await expectSignature(await open());
    expect(fake.requests.map(({ operation }) => operation)).toEqual([
      "GetPublicKey",
      "GetPublicKey",
      "GetPublicKey",
      "Sign",
    ]);
  });

  test("ends with its deadline where the client waits for ever", async () => {
    const client = clientOf(fake);
    fake.faults.on("hang");
    const opening = openAwsKmsSigner({ key: key.arn, client, policy: { ...POLICY, deadlineMs: 300 } });
    await expect(opening).rejects.toMatchObject({ code: "timeout" });
    expect(fake.requests).toHaveLength(1);
  });

  test("ends with the caller's signal", async () => {
    fake.faults.on("hang");
    const controller = new AbortController();
    const opening = openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, signal: controller.signal });
    const reason = new Error("shutting down");
    setTimeout(() => controller.abort(reason), 50);
    await expect(opening).rejects.toMatchObject({ code: "aborted", cause: reason });
  });
});

describe("the encoding of r and s", () => {
  test.each<SignatureShape>(["tiny-r", "tiny-s", "high-r", "high-s"])("is exact for %s", async (shape) => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: PATIENT });
    fake.shape = shape;
    const input = randomBytes(40);
    const raw = await signWith(entryOf(signer), input);
    expect(raw).toHaveLength(64);
    expect(verifies(input, raw)).toBe(true);
    const half = Buffer.from(shape.endsWith("r") ? raw.subarray(0, 32) : raw.subarray(32));
    const zeros = shape === "tiny-r" ? 3 : 1;
    if (shape.startsWith("tiny")) expect(half.subarray(0, zeros)).toEqual(Buffer.alloc(zeros));
    else expect(half.readUInt8(0)).toBeGreaterThanOrEqual(0x80);
  });

  test("is what jose verifies", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: PATIENT });
    const jwk = await importJWK({ ...key.publicKey?.export({ format: "jwk" }), alg: "ES256" });
    for (const shape of ["any", "tiny-r", "tiny-s"] as const) {
      fake.shape = shape;
      const jws = await signJws(createKeySet([{ signer }]), shape);
      const { payload } = await compactVerify(jws, jwk);
      expect(new TextDecoder().decode(payload)).toBe(shape);
    }
  });
});

describe("latency", () => {
  test("of KMS is only waited for", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: PATIENT });
    fake.faults.latencyMs = 50;
    const startedAt = performance.now();
    await expectSignature(signer);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(49);
    expect(fake.requests.filter(({ operation }) => operation === "Sign")).toHaveLength(1);
  });
});

describe("a bare signer whose caller sets no limit", () => {
  test.each<Fault>(["hang", "hang-after-headers"])("is released by its own client's limits while %s", async (fault) => {
    const signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: false });
    fake.faults.on(fault);
    await expect(signer.sign(randomBytes(32))).rejects.toMatchObject({ code: "timeout", transient: true });
    await signer.close();
  });
});

describe("a client that retries by itself", () => {
  test("does so inside our deadline", async () => {
    const client = clientOf(fake, { maxAttempts: 50 });
    await using signer = await openAwsKmsSigner({
      key: key.arn,
      client,
      policy: { attemptTimeoutMs: 400, deadlineMs: 1_000 },
    });
    fake.reset();
    fake.faults.on("unavailable");
    const startedAt = performance.now();
    await expect(signer.sign(createHash("sha256").update("x").digest())).rejects.toMatchObject({ code: "timeout" });
    expect(performance.now() - startedAt).toBeLessThan(TIME_BOUND_MS);
    fake.reset();
    await expectSignature(signer);
  });
});
