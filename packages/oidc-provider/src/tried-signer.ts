import { type ActiveKey, signWith, type SignWithOptions } from "@signpost/core";

/** Signs, and knows of each key whether its last signature failed. */
export interface TriedSigner {
  /** As `signWith`. */
  sign(entry: ActiveKey, data: Uint8Array): Promise<Uint8Array>;
  /**
   * Rejects where a key that failed last still fails. It costs one signature at a time, however many ask, and none while
   * the key signs.
   */
  requireRecovered(entry: ActiveKey): Promise<void>;
}

/** No header and no payload: it is no part of any token. */
const TRIAL = new TextEncoder().encode("does this key sign again?");

/**
 * During an outage of the backend the host would spend every code and refresh token that comes, sign, and fail. With
 * this only the first ones are lost, by which the outage is found out.
 */
export function createTriedSigner(options: SignWithOptions): TriedSigner {
  const failing = new WeakSet<ActiveKey>();
  const trials = new WeakMap<ActiveKey, Promise<unknown>>();

  const sign = async (entry: ActiveKey, data: Uint8Array): Promise<Uint8Array> => {
    try {
      const signature = await signWith(entry, data, options);
      failing.delete(entry);
      return signature;
    } catch (error) {
      failing.add(entry);
      throw error;
    }
  };
  const trialOf = async (entry: ActiveKey): Promise<void> => {
    try {
      await sign(entry, TRIAL);
    } finally {
      trials.delete(entry);
    }
  };
  return {
    sign,
    requireRecovered: async (entry) => {
      if (!failing.has(entry)) return;
      const trial = trials.get(entry) ?? trialOf(entry);
      trials.set(entry, trial);
      await trial;
    },
  };
}
