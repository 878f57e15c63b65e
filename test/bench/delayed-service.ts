import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Contender } from "./measure.ts";

/** A service in a separate process, which delays its answers. All rows share it, and each row sets its delay. */
export interface DelayedService {
  /** The same work against the service with this delay, in milliseconds. */
  withDelay(delayMs: number, run: Contender["run"]): Contender["run"];
}

/** The process takes its delay as a message, and reports when the delay is in effect. */
export function delayedService(server: ChildProcess): DelayedService {
  let current = 0;
  return {
    withDelay: (delayMs, run) => async (operations) => {
      if (current !== delayMs) {
        server.send(delayMs);
        await once(server, "message");
        current = delayMs;
      }
      return run(operations);
    },
  };
}
