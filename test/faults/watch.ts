import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Finding } from "./judge.ts";

/** Watches this process for what no caller sees. */
export interface ProcessWatch extends Disposable {
  readonly findings: readonly Finding[];
}

/** About versions, and not about what the process does. */
const NOTICES = /^(?:Warning: )?(?:ExperimentalWarning|DeprecationWarning|NodeVersionSupportWarning)\b/;

/** Rejections and exceptions that nothing handles, and warnings such as those about too many listeners. */
export function watchProcess(): ProcessWatch {
  const findings: Finding[] = [];
  const describe = (reason: unknown): string =>
    reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
  const rejected = (reason: unknown): void => void findings.push({ rule: "rejection", what: describe(reason) });
  const thrown = (error: unknown): void => void findings.push({ rule: "rejection", what: describe(error) });
  const warned = (warning: Error): void => {
    if (NOTICES.test(`${warning.name}: ${warning.message}`)) return;
    findings.push({ rule: "warning", what: describe(warning) });
  };
  process.on("unhandledRejection", rejected).on("uncaughtException", thrown).on("warning", warned);
  return {
    findings,
    [Symbol.dispose]: () => {
      process.off("unhandledRejection", rejected).off("uncaughtException", thrown).off("warning", warned);
    },
  };
}

/** What keeps the process alive, by kind: sockets, timers, threads, and child processes. */
export type Resources = ReadonlyMap<string, number>;

export function countResources(): Resources {
  const counts = new Map<string, number>();
  const names = [...process.getActiveResourcesInfo(), ...childProcesses().map(() => "child process")];
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** The ids of this process's children, of all its threads. On Linux only. */
export function childProcesses(): readonly number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/task").flatMap((thread) => {
    const list = readIfThere(`/proc/self/task/${thread}/children`);
    return list.split(" ").filter(Boolean).map(Number);
  });
}

/** A thread may end in between. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/**
 * What there is more of than before. `others`: what else is still open, in words. `goneMs`: how long connections and threads
 * may take to be gone.
 */
export async function leftBehind(
  before: Resources,
  others: () => readonly string[],
  goneMs: number,
): Promise<readonly Finding[]> {
  const left = (): readonly string[] => [
    ...[...countResources()]
      .filter(([name, count]) => count > (before.get(name) ?? 0))
      .map(([name, count]) => `${count - (before.get(name) ?? 0)} × ${name}`),
    ...others(),
  ];
  const rounds = goneMs / 50;
  for (let round = 0; round < rounds && left().length > 0; round += 1) await pause(50);
  return left().map((what) => ({ rule: "left behind", what }));
}

/** The bytes that the heap and its buffers use after a full collection of garbage. */
export function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The bound on the growth of the heap, from the first quarter of a campaign to its end. */
const MEMORY_BOUND_BYTES = 12 * 1024 * 1024;

export function judgeMemory(growth: number): readonly Finding[] {
  if (growth <= MEMORY_BOUND_BYTES) return [];
  return [{ rule: "memory", what: `the heap has grown by ${Math.round(growth / 1024)} KiB` }];
}
