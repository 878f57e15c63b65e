import { setTimeout as delay } from "node:timers/promises";
import type { Signer } from "@signpost/core";
import { newMessage, verifies } from "./signatures.ts";

/** What a load has seen. */
export interface Load {
  readonly signed: number;
  readonly errors: readonly unknown[];
  /** Signatures that do not verify. */
  readonly wrong: number;
}

/** Signs without a pause, with this many callers, until the work has ended. */
export async function underLoad(signer: Signer, callers: number, work: () => Promise<unknown>): Promise<Load> {
  const seen = { signed: 0, errors: [] as unknown[], wrong: 0 };
  let ended = false;
  const call = async (): Promise<void> => {
    while (!ended) {
      const message = newMessage();
      try {
        const signature = await signer.sign(message.digest);
        seen.signed += 1;
        if (!verifies(signer.publicKey, message, signature)) seen.wrong += 1;
      } catch (error) {
        seen.errors.push(error);
      }
      // Leaves time for the work, and for other tests.
      await delay(2);
    }
  };
  const running = Promise.all(Array.from({ length: callers }, call));
  try {
    await work();
  } finally {
    ended = true;
    await running;
  }
  return seen;
}
