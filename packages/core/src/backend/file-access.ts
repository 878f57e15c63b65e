/** Concurrent accesses. Files that hang leave the rest of libuv's pool, which has four threads, to the application. */
const MAX_AT_ONCE = 2;

/**
 * Creates a function that does work on files, by key. A file on a mount that hangs blocks one of the four threads of libuv's
 * pool until it answers, and without these threads no file of the process can be read. So a second task with the same key
 * joins the first while that one is running, and only two tasks run at a time. Others wait, in order of arrival.
 *
 * @example
 * ```ts
 * import { stat } from "node:fs/promises";
 * import { createFileAccess } from "@signpost/core/adapter";
 *
 * const access = createFileAccess<number>();
 * export const sizeOf = (path: string): Promise<number> => access(path, async () => (await stat(path)).size);
 * ```
 */
export function createFileAccess<Value>(): (key: string, work: () => Promise<Value>) => Promise<Value> {
  const running = new Map<string, Promise<Value>>();
  const waiting: (() => void)[] = [];
  let active = 0;

  const inTurn = async (work: () => Promise<Value>): Promise<Value> => {
    if (active >= MAX_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
    else active += 1;
    try {
      return await work();
    } finally {
      // The next task takes over this turn.
      const next = waiting.shift();
      if (next === undefined) active -= 1;
      else next();
    }
  };
  return (key, work) => {
    const known = running.get(key);
    if (known !== undefined) return known;
    const started = inTurn(work).finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };
}
