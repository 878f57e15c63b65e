import type { PlannedKey } from "./timeline.ts";

/** Tells `onDrop` of each entry once. Its own failure is a warning: signing goes on. */
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
      // Not the error itself: it is the caller's, and may say anything.
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
