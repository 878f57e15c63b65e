import { generateKeyPairSync, randomBytes } from "node:crypto";
import { compactVerify, importJWK } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createKeySet,
  failoverSigner,
  guardSigner,
  signJws,
  type GuardedSigner,
  type Signer,
  type SignerError,
} from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import type { ImportedKey, KmsEmulator, KmsEmulatorOptions } from "@signpost/test-backends/aws-kms-emulator";
import { provideCredentials } from "./environment.ts";

type Start = (options: KmsEmulatorOptions) => Promise<KmsEmulator>;

/** Two places that hold one key, as a Multi-Region key and its replica do. */
export function describeFailover(starts: readonly [Start, Start], keyId: string): void {
  const key: ImportedKey = { keyId, privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey };
  const [startFirst, startSecond] = starts;
  let first: KmsEmulator;
  let second: KmsEmulator;
  let signer: GuardedSigner;
  let skippedMs = 0;
  /** Attempts by place. */
  let attempts: { first: number; second: number };

  const openAt = async (place: "first" | "second", emulator: KmsEmulator): Promise<Signer> => {
    const bare = await openAwsKmsSigner({
      key: emulator.keyArn(keyId),
      endpoint: emulator.endpoint,
      policy: false,
    });
    return {
      ...bare,
      sign: (digest, options) => {
        attempts[place] += 1;
        return bare.sign(digest, options);
      },
    };
  };
  const expectToken = async (): Promise<void> => {
    const text = randomBytes(8).toString("hex");
    const token = await signJws(createKeySet([{ signer }]), text);
    const { payload } = await compactVerify(token, await importJWK({ ...signer.publicKey, alg: "ES256" }));
    expect(new TextDecoder().decode(payload)).toBe(text);
  };

  beforeEach(async () => {
    const now = performance.now.bind(performance);
    skippedMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + skippedMs);
    first = await startFirst({ keys: [key], region: "eu-west-1" });
    second = await startSecond({ keys: [key], region: "eu-central-1" });
    provideCredentials(first.credentials);
    attempts = { first: 0, second: 0 };
    signer = guardSigner(failoverSigner([await openAt("first", first), await openAt("second", second)]), {
      attemptTimeoutMs: 1_000,
      deadlineMs: 20_000,
    });
    await expectToken();
    expect(attempts).toEqual({ first: 1, second: 0 });
    attempts = { first: 0, second: 0 };
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    first.thaw();
    await signer.close();
    await first.stop();
    await second.stop();
  });

  /** The first place is tried again after 30 s: only the clock that says so is moved. */
  const halfAMinuteLater = (): void => {
    skippedMs += 30_001;
  };

  describe("a place that hangs", () => {
    test("costs one attempt, and none as long as the other is used; it is used again when it is back", async () => {
      await first.freeze();
      await expectToken();
      expect(attempts).toEqual({ first: 1, second: 1 });
      expect(signer.health().status).toBe("degraded");
      await expectToken();
      await expectToken();
      expect(attempts).toEqual({ first: 1, second: 3 });

      first.thaw();
      halfAMinuteLater();
      await expectToken();
      await expectToken();
      expect(attempts).toEqual({ first: 3, second: 3 });
      expect(signer.health().status).toBe("ready");
    });
  });

  describe("a place that goes down", () => {
    test("costs one attempt; while it stays down it is tried once in half a minute; it is used when it is back", async () => {
      const { port } = first;
      await first.stop();
      await expectToken();
      await expectToken();
      expect(attempts).toEqual({ first: 1, second: 2 });

      halfAMinuteLater();
      await expectToken();
      await expectToken();
      expect(attempts).toEqual({ first: 2, second: 4 });

      first = await startFirst({ keys: [key], region: "eu-west-1", port });
      halfAMinuteLater();
      await expectToken();
      await expectToken();
      expect(attempts.second).toBe(4);
    });
  });

  describe("both places", () => {
    test("down is unavailable, and one back is enough", async () => {
      const { port } = second;
      await first.stop();
      await second.stop();
      const failed = await signer.sign(randomBytes(32)).catch((error: SignerError) => error);
      expect(failed).toMatchObject({ code: "unavailable", transient: true });
      expect(attempts.first).toBeGreaterThan(0);
      expect(attempts.second).toBeGreaterThan(0);
      expect(signer.health().status).toBe("degraded");

      second = await startSecond({ keys: [key], region: "eu-central-1", port });
      await expectToken();
      // It signs, at the standby.
      expect(signer.health()).toMatchObject({
        status: "degraded",
        notes: [expect.stringMatching(/^the standby .* has signed since .* failed \(unavailable\)$/)],
      });
    });
  });
}
