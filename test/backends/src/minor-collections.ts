import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

type Collect = (options?: { readonly type: "minor" }) => void;

/**
 * Does work so often, each time followed by a minor garbage collection. Resolves with the bytes that the heap has grown by.
 * Minor collections leave only what is in use, and what something old refers to that is not in use any more.
 */
export async function survivingBytes(rounds: number, work: () => unknown): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as Collect;
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < rounds; round += 1) {
    await work();
    collect({ type: "minor" });
  }
  return process.memoryUsage().heapUsed - before;
}
