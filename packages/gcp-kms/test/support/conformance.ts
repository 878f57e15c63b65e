import { afterAll, beforeAll, describe, test } from "vitest";
import { type Fault, signerChecks } from "@signpost/conformance";
import type { GuardPolicy, Signer } from "@signpost/core";
import { type GcpKmsClientLike, openGcpKmsSigner } from "@signpost/gcp-kms";
import { DEFAULT_CRYPTO_KEY, type FakeGcpKms, startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { ACCESS_TOKEN, type ClientKind } from "./clients.ts";

/** All words but those of sessions, PINs and searches, which this service does not have. */
export const FAULTS: readonly Fault[] = [
  "unreachable",
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

/** How long opening may try while a fault is on, which does not pass: more than the client takes to connect again. Milliseconds. */
const FAULTY_OPEN_MS = 600;
/** And while none is, so that a busy machine changes no result. Milliseconds. */
const OPEN_MS = 10_000;

/** All checks, with every fault, on a client and a fake of their own. */
export function describeConformance({ label, connect }: ClientKind): void {
  describe(`a signer over ${label}`, () => {
    let fake: FakeGcpKms;
    let client: GcpKmsClientLike;
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

    let isFaulty = false;
    const switchFault = async (fault: Fault, on: boolean): Promise<void> => {
      isFaulty = on;
      if (fault === "unreachable") return fake.setReachable(!on);
      return on ? fake.faults.on(fault) : fake.faults.off(fault);
    };
    const open = (policy?: GuardPolicy | false): Promise<Signer> =>
      openGcpKmsSigner({ keyVersion, client, policy, openDeadlineMs: isFaulty ? FAULTY_OPEN_MS : OPEN_MS });

    for (const check of signerChecks({
      open,
      openWith: (limits) => openGcpKmsSigner({ keyVersion, client, ...limits }),
      secrets: [ACCESS_TOKEN],
      faults: Object.fromEntries(FAULTS.map((fault) => [fault, (on: boolean) => switchFault(fault, on)])),
    })) {
      test(check.name, () => check.run());
    }
  });
}
