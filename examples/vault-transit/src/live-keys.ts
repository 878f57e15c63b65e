import { createRotationSchedule, SignerError, type RotationSchedule } from "@signpost/core";
import { vaultTransitKeys, type VaultTransitKeysOptions } from "@signpost/vault-transit";

/** The longest lifetime of a token. A key that has retired stays published that long. Seconds. */
export const TOKEN_LIFETIME_SECONDS = 300;

/** The versions of a key, and the schedule that follows from them. */
export interface LiveKeys {
  /** The schedule of the versions that were read last. */
  readonly schedule: () => RotationSchedule;
  close(): Promise<void>;
}

/** Reads the versions, and reads them again every `refreshMs`. New versions are announced first, and sign later. */
export async function openLiveKeys(
  options: VaultTransitKeysOptions,
  refreshMs: number,
  now: () => number = Date.now,
): Promise<LiveKeys> {
  const keys = await vaultTransitKeys(options);
  const plan = (): RotationSchedule =>
    createRotationSchedule(keys.versions, { maxTokenLifetimeSeconds: TOKEN_LIFETIME_SECONDS, now });
  let schedule: RotationSchedule;
  try {
    schedule = plan();
  } catch (error) {
    await keys.close();
    throw error;
  }
  const refresh = async (): Promise<void> => {
    try {
      // A new schedule only after a change, so that caches of the key set stay useful.
      if (await keys.refresh()) schedule = plan();
    } catch (error) {
      // The OP stops.
      if (error instanceof SignerError && error.code === "closed") return;
      // The versions that are known stay in use. Tell the operator if this lasts longer than `pickUpMinutes`.
      console.error(`the versions of the key could not be read: ${String(error)}`);
    }
  };
  const timer = setInterval(() => void refresh(), refreshMs);
  timer.unref();
  return {
    schedule: () => schedule,
    close: () => {
      clearInterval(timer);
      return keys.close();
    },
  };
}
