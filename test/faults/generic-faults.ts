import { spawn } from "node:child_process";
import { once } from "node:events";
import type { FaultSwitch } from "./backend.ts";
import type { Clocks } from "./clocks.ts";
import type { Kind } from "./kinds.ts";

const HOUR_MS = 3_600_000;

/** The faults of the clocks, which every backend has. */
export function clockFaults(clocks: Clocks): Partial<Readonly<Record<Kind, FaultSwitch>>> {
  const off = (): void => clocks.restore();
  return {
    "wall-clock-forward": { on: () => clocks.stepWall(2 * HOUR_MS), off },
    "wall-clock-back": { on: () => clocks.stepWall(-HOUR_MS), off },
    "wall-clock-frozen": { on: () => clocks.freezeWall(), off },
    "monotonic-clock-forward": { on: () => clocks.stepMonotonic(HOUR_MS), off },
    "monotonic-clock-frozen": { on: () => clocks.freezeMonotonic(), off },
    ...(process.platform === "win32" ? {} : { "own-process-stopped": { on: stopOwnProcess, off: () => undefined } }),
  };
}

/** Stops this whole process for a second, as a laptop, a virtual machine or a busy host does. */
async function stopOwnProcess(): Promise<void> {
  const script = 'kill -STOP "$1"; sleep 1; kill -CONT "$1"';
  const child = spawn("sh", ["-c", script, "sh", String(process.pid)], { stdio: "ignore" });
  await once(child, "exit");
}
