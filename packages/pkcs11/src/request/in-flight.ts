/**
 * Work by key, of which no second one is begun while the first has not come back. A file on a mount that hangs keeps a thread of
 * libuv's pool, of which there are four: those who ask again must not take another one each.
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
