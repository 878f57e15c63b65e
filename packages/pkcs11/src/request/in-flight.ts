/**
 * Work by key. A second task with the same key joins the first while that one is running. A file on a hanging mount blocks
 * one of the four threads of libuv's pool, and repeated requests must not block another one each.
 */
export function createInFlight<Value>(): (key: string, work: () => Promise<Value>) => Promise<Value> {
  const running = new Map<string, Promise<Value>>();
  return (key, work) => {
    const known = running.get(key);
    if (known !== undefined) return known;
    const started = work().finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };
}
