import { signWith, type GuardedSigner, SignerError, type RotationSchedule } from "@signpost/core";

export interface Readiness {
  /** 503 keeps requests away. Signs once if the active key has not signed yet. */
  check(): Promise<{ readonly ready: boolean; readonly status: string; readonly code?: string | undefined }>;
  /** From now on it is never ready again. */
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
      // The first signature opens connections and gets credentials, so no user waits for that. The first one after a rotation
      // does the same for the next key. While the key is down, only this route can notice that it works again.
      if (provenKeyId !== active.keyId || wasDown) {
        try {
          await signWith(active, WARM_UP);
          provenKeyId = active.keyId;
        } catch (error) {
          // An outage affects all replicas, so a replica that serves stays in. A replica that is out stays out until its
          // key has signed.
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
