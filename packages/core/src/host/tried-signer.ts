import type { ActiveKey } from "../keyset/types.ts";
import { withinHookDeadline } from "../signing/hook-deadline.ts";
import { signWith, type SignWithOptions } from "../signing/sign-with.ts";

/** Signs, and remembers for each key whether its last signature failed. */
export interface TriedSigner {
  /** As `signWith`. */
  sign(entry: ActiveKey, data: Uint8Array): Promise<Uint8Array>;
  /** Runs a function that signs with the key in another way. It is given the signal of a deadline of 60 seconds. */
  attempt<T>(entry: ActiveKey, makeSignature: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /**
   * After a failure, has the key sign again, and rejects if it still fails. All callers wait for the same signature. While
   * the key works, it signs nothing. Resolves with whether it has waited.
   */
  requireRecovered(entry: ActiveKey): Promise<boolean>;
}

/** It has no header and no payload, so its signature fits no token. */
const TRIAL = new TextEncoder().encode("does this key sign again?");

/**
 * For the plug of a host that uses up a code or a token before it signs. During an outage of the backend, the host would use
 * up each of them, and then fail to sign. With this, only the first ones are lost.
 *
 * @example
 * ```ts
 * import { type ActiveKey } from "@signpost/core";
 * import { createTriedSigner } from "@signpost/core/adapter";
 *
 * const tried = createTriedSigner({});
 * export async function beforeSpending(key: ActiveKey): Promise<void> {
 *   await tried.requireRecovered(key);
 * }
 * ```
 */
export function createTriedSigner(options: SignWithOptions): TriedSigner {
  // The last failure of a key, by its signer: a schedule makes new entries of the same key whenever its set changes.
  // A signature that started before the failure does not show that the key signs again.
  const failing = new WeakMap<ActiveKey["signer"], object>();
  const trials = new WeakMap<ActiveKey, Promise<unknown>>();

  const attempt = async <T>(entry: ActiveKey, makeSignature: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const before = failing.get(entry.signer);
    try {
      const signature = await withinHookDeadline(makeSignature);
      if (failing.get(entry.signer) === before) failing.delete(entry.signer);
      return signature;
    } catch (error) {
      failing.set(entry.signer, {});
      throw error;
    }
  };
  const sign = (entry: ActiveKey, data: Uint8Array): Promise<Uint8Array> =>
    attempt(entry, (signal) => signWith(entry, data, { ...options, signal }));
  const trialOf = async (entry: ActiveKey): Promise<void> => {
    try {
      await sign(entry, TRIAL);
    } finally {
      trials.delete(entry);
    }
  };
  return {
    sign,
    attempt,
    requireRecovered: async (entry) => {
      if (!failing.has(entry.signer)) return false;
      const trial = trials.get(entry) ?? trialOf(entry);
      trials.set(entry, trial);
      await trial;
      return true;
    },
  };
}
