import { currentKeySet, type RotationSchedule } from "@signpost/core";
import { tryKeySource } from "@signpost/core/adapter";

/** The keys of the current configuration, as one schedule that outlives each configuration. */
export interface CurrentKeys {
  /** Remembers, like every schedule, which key each `kid` has named. */
  readonly schedule: RotationSchedule;
  /** Takes other keys, or keeps those before and throws if a `kid` would name another key, or if `check` throws. */
  replace(next: RotationSchedule, check?: () => void): void;
}

export function createCurrentKeys(): CurrentKeys {
  let current: RotationSchedule | undefined;
  const now = (): RotationSchedule => {
    if (current === undefined) throw new TypeError("no keys yet");
    return current;
  };
  const schedule: RotationSchedule = Object.freeze({
    keySet: () => now().keySet(),
    jwksRotationActive: () => now().jwksRotationActive(),
    withdrawn: () => now().withdrawn(),
    nextChange: () => now().nextChange(),
    latestExpiry: (keyId?: string) => now().latestExpiry(keyId),
  });
  return {
    schedule,
    replace(next, check) {
      const before = current;
      current = next;
      try {
        tryKeySource(schedule, () => {
          currentKeySet(schedule);
          check?.();
        });
      } catch (error) {
        current = before;
        throw error;
      }
    },
  };
}
