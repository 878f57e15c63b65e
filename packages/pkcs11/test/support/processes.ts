import { readdirSync, readFileSync } from "node:fs";

/** The programs that a process has started and that still run, by number. Linux. */
export function childrenOf(parent: number = process.pid): readonly number[] {
  const numbers = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return numbers.map(Number).filter((pid) => isRunning(pid) && statusOf(pid)?.parent === parent);
}

/** False for a process that has ended, even before its result was collected. */
export function isRunning(pid: number): boolean {
  const state = statusOf(pid)?.state;
  return state !== undefined && state !== "Z" && state !== "X";
}

/** The environment that it was started with: `NAME=value`. */
export function environmentOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
}

function statusOf(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    // The name in parentheses may hold anything.
    const [state = "", parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}
