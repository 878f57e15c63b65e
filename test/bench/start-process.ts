import { fork } from "node:child_process";
import { once } from "node:events";
import type { Contender } from "./harness.ts";
import type { StartResult, StartTask } from "./start-program.ts";

/** Does a task in a fresh process, and returns how long it took there. */
export async function start(task: StartTask): Promise<StartResult> {
  const child = fork(new URL("./start-program.js", import.meta.url), [JSON.stringify(task)]);
  const exited = once(child, "exit");
  const [result] = (await Promise.race([once(child, "message"), exited.then(() => [])])) as [StartResult?];
  await exited;
  if (result === undefined) throw new Error(`a start failed: ${JSON.stringify(task)}`);
  return result;
}

/** One side of a pair that takes as long as a task in a fresh process. */
export function starting(name: string, task: StartTask): Contender {
  return { name, run: async () => (await start(task)).ms };
}
