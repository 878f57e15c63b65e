import { afterAll, beforeAll, describe, test } from "vitest";
import { type Fault, signerChecks } from "@signpost/conformance";
import { type GcpKmsClient, openGcpKmsSigner } from "@signpost/gcp-kms";
import { DEFAULT_CRYPTO_KEY, type FakeGcpKms, startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { ACCESS_TOKEN, type ClientKind } from "./clients.ts";

/** All words but those of sessions, PINs and searches, which this service does not have. */
const FAULTS: readonly Fault[] = [
  "unavailable",
  "throttle",
  "backend-timeout",
  "reset",
  "hang",
  "hang-after-headers",
  "slow",
  "truncated",
  "empty",
  "html",
  "corrupted",
  "corrupted-request",
  "missing-checksum",
  "wrong-key",
  "foreign-signature",
  "bad-signature",
  "malformed-signature",
  "out-of-range-signature",
  "access-denied",
  "expired-credentials",
  "key-not-found",
  "key-disabled",
  "key-destroyed",
  "unsupported-key",
  "key-pending",
];

/** More than the second that gRPC waits before it connects again, and little where the fault stays. */
const OPEN_DEADLINE_MS = 2_000;

/** All checks, with every fault, on a client and a fake of their own. */
export function describeConformance({ label, connect }: ClientKind): void {
  describe(`a signer over ${label}`, () => {
    let fake: FakeGcpKms;
    let client: GcpKmsClient;
    const keyVersion = `${DEFAULT_CRYPTO_KEY}/cryptoKeyVersions/1`;

    beforeAll(async () => {
      fake = await startFakeGcpKms();
      fake.addVersion();
      client = connect(fake);
      // The first call of a process loads most of the client, which is not what the checks are about.
      await openGcpKmsSigner({ keyVersion, client, openDeadlineMs: 30_000, callTimeoutMs: 30_000 });
    });
    afterAll(async () => {
      await client.close();
      await fake.stop();
    });

    const faults: Partial<Record<Fault, (on: boolean) => Promise<void>>> = {
      unreachable: async (on) => fake.setReachable(!on),
      ...Object.fromEntries(
        FAULTS.map((fault) => [fault, async (on: boolean) => (on ? fake.faults.on(fault) : fake.faults.off(fault))]),
      ),
    };
    for (const check of signerChecks({
      open: (policy) => openGcpKmsSigner({ keyVersion, client, policy, openDeadlineMs: OPEN_DEADLINE_MS }),
      secrets: [ACCESS_TOKEN],
      faults,
    })) {
      test(check.name, () => check.run());
    }
  });
}
