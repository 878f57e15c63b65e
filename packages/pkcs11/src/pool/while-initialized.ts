import { setTimeout } from "node:timers/promises";
import { elapsedMs, readInstant } from "@signpost/core/adapter";
import { isNotInitialized } from "../wire/command-error.ts";
import type { FreshStarts } from "./fresh-starts.ts";
import { INITIALIZE_INTERVAL_MS } from "./limits.ts";

/** Time enough for a few C_Initialize. Milliseconds. */
const GIVE_UP_MS = 3 * INITIALIZE_INTERVAL_MS;
const POLL_MS = 50;

/**
 * Does work that needs the initialized module. Other code may finalize it between our C_Initialize and the work, and so may a
 * thread of ours that closes its last signer and did not know of this one. If several threads come and go, that happens more
 * than once.
 */
export async function whileInitialized<Value>(
  freshStarts: Pick<FreshStarts, "reinitialize">,
  work: () => Promise<Value>,
): Promise<Value> {
  const begun = readInstant();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isNotInitialized(error) || elapsedMs(begun) > GIVE_UP_MS) throw error;
      if (!(await freshStarts.reinitialize(error))) await setTimeout(POLL_MS);
    }
  }
}
