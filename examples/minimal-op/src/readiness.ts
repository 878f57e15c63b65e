import { signWith, type GuardedSigner, SignerError, type RotationSchedule } from "@signpost/core";

export interface Readiness {
  /** 503 keeps requests away. Signs once where it is not known that the active key does. */
  check(): Promise<{ readonly ready: boolean; readonly status: string; readonly code?: string | undefined }>;
  /** From now on not ready, for good. */
  drain(): void;
}

const WARM_UP = new TextEncoder().encode("warm-up");

export function createReadiness(schedule: RotationSchedule, signers: readonly GuardedSigner[]): Readiness {
  let draining = false;
  let provenKeyId: string | undefined;

  return {
    async check() {
      if (draining) return { ready: false, status: "draining" };
      const { active } = schedule.keySet();
      const signer = signers.find((candidate) => candidate === active.signer);
      const wasDown = signer?.health().status === "down";
      // The first signature opens connections and gets credentials, so that no user waits for it; the first after a
      // rotation does the same for the next key. While the key is down nothing else would ask whether it is back.
      if (provenKeyId !== active.keyId || wasDown) {
        try {
          await signWith(active, WARM_UP);
          provenKeyId = active.keyId;
        } catch (error) {
          // A replica that serves stays in during an outage, which all replicas have alike. One that is out stays out
          // until its key has signed.
          const outage = error instanceof SignerError && error.transient;
          if (!outage || wasDown || provenKeyId === undefined) {
            provenKeyId = undefined;
            return { ready: false, status: "down", code: codeOf(error) };
          }
        }
      }
      const { status = "ready", lastCode } = signer?.health() ?? {};
      return { ready: true, status, ...(lastCode !== undefined && { code: lastCode }) };
    },
    drain() {
      draining = true;
    },
  };
}

function codeOf(error: unknown): string {
  return error instanceof SignerError ? error.code : "unknown";
}
