// Whether a result meets its target: judged by the median of the paired values. Its interval is shown with it.
import type { PairingResult, Target } from "./measure.ts";

type Judged = Pick<PairingResult, keyof Target | "target" | "peer">;

/** Whether all parts of the target are met. Undefined if there is no target. */
export function verdictOf(result: Judged): boolean | undefined {
  const parts = judgedParts(result);
  return parts.length === 0 ? undefined : parts.every((part) => meets(result, part));
}

/** False if the part was not measured. */
export function meets(result: Judged, part: keyof Target): boolean {
  const limit = result.target[part] ?? Number.NaN;
  if (part === "ofIdeal") return (result.ofIdeal?.ours ?? Number.NaN) >= limit;
  return (result[part]?.value ?? Number.NaN) <= limit;
}

const PARTS: Readonly<Record<keyof Target, true>> = {
  addedMs: true,
  ratio: true,
  addedCpuMs: true,
  cpuRatio: true,
  ofIdeal: true,
};

/**
 * What the result is judged by: nothing where ours should be level with a peer that waits for a service, but the peer has
 * no processor time left. Such a row compares the CPU of both sides, and other rows do that better.
 */
export function judgedParts(result: Judged): (keyof Target)[] {
  const level = result.ofIdeal !== undefined && (result.target.ratio ?? 0) >= 1;
  const outOfCpu = level && result.peer.cpuMs.median >= 0.95 * result.peer.ms.median;
  return outOfCpu ? [] : partsOf(result.target);
}

/** What a target is about. */
export function partsOf(limits: Target): (keyof Target)[] {
  return (Object.keys(PARTS) as (keyof Target)[]).filter((name) => limits[name] !== undefined);
}
