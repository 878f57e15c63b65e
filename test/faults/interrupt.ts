import { constants } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { FaultyBackend } from "./backend.ts";
import { childProcesses } from "./watch.ts";

/** How long a backend may take to stop. Milliseconds. */
const STOP_MS = 10_000;

/** What a program knows of a signal that ends it. */
export interface Interruption {
  /** Goes on unless a signal is ending the program. Then it never does. */
  goOn(): Promise<void>;
}

/**
 * On SIGINT and SIGTERM: stops the backend, kills every child, and exits with 130 or 143. A child that a fault has stopped ends by
 * nothing else.
 */
export function stopOnSignals(started: () => Promise<FaultyBackend>): Interruption {
  let stopping = false;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) return;
    stopping = true;
    const stopped = started().then((backend) => backend.stop());
    // What fails here fails because everything else stops too.
    await Promise.race([stopped.catch(() => undefined), pause(STOP_MS)]);
    for (const pid of childProcesses()) killIfThere(pid);
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void stop(signal));
  return { goOn: () => (stopping ? new Promise(() => undefined) : Promise.resolve()) };
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
