import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Ends a `credential_process`, and does not wait for it. The SDK runs it in a shell, which may not pass a signal on. So on Linux,
 * the programs that the shell started get the signal too.
 */
export function endProcess(child: ChildProcess): void {
  for (const pid of programsOf(child.pid)) signal(pid);
  child.kill();
  // It may go on regardless. Then only its next output ends it.
  for (const output of [child.stdout, child.stderr]) output?.destroy();
  child.unref();
}

/** All programs that a process has started, and that these have started. */
function programsOf(pid: number | undefined): readonly number[] {
  if (pid === undefined) return [];
  return childrenOf(pid).flatMap((child) => [child, ...programsOf(child)]);
}

function childrenOf(pid: number): readonly number[] {
  try {
    return (readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").match(/\d+/g) ?? []).map(Number);
  } catch {
    // Another system, or the process has ended.
    return [];
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid);
  } catch {
    // It has ended.
  }
}
