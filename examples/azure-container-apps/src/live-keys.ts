import { createRotationSchedule, SignerError, type RotationSchedule } from "@signpost/core";
import { azureKeyVaultKeys, type AzureKeyVaultKeysOptions } from "@signpost/azure-key-vault";

/** The longest lifetime of a token. A key that has retired stays published that long. Seconds. */
export const TOKEN_LIFETIME_SECONDS = 300;

/** The versions of a key, and the schedule that follows from them. */
export interface LiveKeys {
  /** The schedule of the versions that were listed last. */
  readonly schedule: () => RotationSchedule;
  close(): Promise<void>;
}

/** Lists the versions, and lists them again every `refreshMs`. What the rotation policy makes is announced first. */
export async function openLiveKeys(options: AzureKeyVaultKeysOptions, refreshMs: number): Promise<LiveKeys> {
  const keys = await azureKeyVaultKeys(options);
  const plan = (): RotationSchedule =>
    createRotationSchedule(keys.versions, { maxTokenLifetimeSeconds: TOKEN_LIFETIME_SECONDS });
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
      console.error(`the versions of the key could not be listed: ${String(error)}`);
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
