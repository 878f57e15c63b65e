import type { PlannedKey } from "./timeline.ts";

/** Calls `onDrop` once for each dropped entry. If it fails, a warning is emitted and signing goes on. */
export function dropReporter<Entry>(
  keys: readonly PlannedKey<Entry>[],
  onDrop: ((entry: Entry) => void | Promise<void>) | undefined,
): (time: number) => void {
  if (onDrop === undefined) return () => {};
  const reported = new Set<PlannedKey<Entry>>();
  const report = async (key: PlannedKey<Entry>): Promise<void> => {
    try {
      await onDrop(key.entry);
    } catch {
      // Without the error: it comes from the caller's code and may contain a secret.
      process.emitWarning(`onDrop failed for ${key.argument}`, "SignpostWarning");
    }
  };
  return (time) => {
    for (const key of keys) {
      if (time < key.droppedFrom || reported.has(key)) continue;
      reported.add(key);
      void report(key);
    }
  };
}
