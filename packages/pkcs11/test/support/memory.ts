import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { ShimmedBackend } from "./shimmed-backend.ts";

const MEBIBYTE = 1024 * 1024;
/** Each costs a garbage collection. */
const MEMORY_SAMPLES = 200;
const HANDLE_SAMPLES = 60;
/** What threads take and keep for themselves in such a time. */
const MAX_GROWTH = 16 * MEBIBYTE;

interface Sample {
  readonly rss: number;
  readonly files: number;
  readonly resources: number;
}

interface Run {
  readonly made: number;
  readonly bad: number;
  readonly samples: readonly Sample[];
}

/** Memory and handles over many signatures, a multiple of 200. A leak is there each time, what a busy machine does is not. */
export function memoryTest(at: ShimmedBackend, signatures: number): void {
  test(`${signatures} signatures with garbage collection forced neither let memory grow nor leave handles behind`, async () => {
    const first = growth(await expectNoHandlesLeft(at, signatures, MEMORY_SAMPLES));
    if (first <= MAX_GROWTH) return;
    const second = growth(await expectNoHandlesLeft(at, signatures, MEMORY_SAMPLES));
    expect(Math.min(first, second) / MEBIBYTE).toBeLessThanOrEqual(MAX_GROWTH / MEBIBYTE);
  }, 600_000);
}

/** Handles alone, which show after few signatures, a multiple of 60. */
export function handlesTest(at: ShimmedBackend, signatures: number): void {
  test(`${signatures} signatures leave no handles behind, and are made by the sessions that there were`, async () => {
    await expectNoHandlesLeft(at, signatures, HANDLE_SAMPLES);
  });
}

async function expectNoHandlesLeft(at: ShimmedBackend, signatures: number, wanted: number): Promise<readonly Sample[]> {
  const left = await at.backend.leftHandles?.();
  const opened = at.shim.calls("C_OpenSession");
  const { made, bad, samples } = await manySignatures(at.base, signatures, wanted);
  expect({ made, bad }).toEqual({ made: signatures, bad: 0 });
  expect(samples).toHaveLength(wanted);
  // The least of each: timers of the calls under way come and go, and what is left behind is in every sample after it.
  for (const what of ["files", "resources"] as const) {
    expect(Math.min(...tenth(samples, 10, what))).toBeLessThanOrEqual(Math.min(...tenth(samples, 6, what)));
  }
  // The sessions that it began with have made them all.
  expect(at.shim.calls("C_OpenSession") - opened).toBe(at.backend.sessions);
  expect(at.shim.counter("openSessions")).toBe(0);
  expect(await at.backend.leftHandles?.()).toEqual(left);
  return samples;
}

async function manySignatures(options: unknown, total: number, samples: number): Promise<Run> {
  const program = fileURLToPath(new URL("../programs/many-signatures.mjs", import.meta.url));
  const args = ["--expose-gc", program, JSON.stringify(options), String(total), "64", String(samples)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return JSON.parse(output) as Run;
}

/**
 * Bytes that memory grew by from the third tenth on: the median slope between any two samples, times their number. A module and V8
 * give memory back and take it again in steps of ten megabytes, at times that the load decides. Steps do not move it, a leak does.
 */
function growth(samples: readonly Sample[]): number {
  const taken = samples.slice(samples.length / 5).map(({ rss }) => rss);
  const slopes = taken.flatMap((first, at) => taken.slice(at + 1).map((later, ahead) => (later - first) / (ahead + 1)));
  return median(slopes) * taken.length;
}

function tenth(samples: readonly Sample[], index: number, what: keyof Sample): readonly number[] {
  const size = samples.length / 10;
  return samples.slice((index - 1) * size, index * size).map((sample) => sample[what]);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
