import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Contender } from "./measure.ts";

/**
 * The same work against a service in a process of its own, which delays its answers. The delay is set before the first
 * sample, since every row has another one and all share the process.
 */
export function withServiceDelay(server: ChildProcess, delayMs: number, run: Contender["run"]): Contender["run"] {
  let isSet = false;
  return async (operations) => {
    if (!isSet) {
      server.send(delayMs);
      await once(server, "message");
      isSet = true;
    }
    await run(operations);
  };
}
