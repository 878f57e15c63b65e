import { saveFailure } from "./failures.ts";
import { limited } from "./limited.ts";
import { mutate } from "./mutate.ts";
import { createProbe } from "./probe.ts";
import { createRandom } from "./random.ts";
import { shrink } from "./shrink.ts";
import type { Outcome, Target } from "./target.ts";

/** How a target is run. */
export interface RunOptions {
  readonly seed: number;
  /** How many inputs are made. */
  readonly cases: number;
  /** Kept inputs, which are tried first. */
  readonly corpus: readonly Uint8Array[];
  /** Ends the run early. */
  readonly isOver?: () => boolean;
  /** Called for each input with an outcome that none before it had. */
  readonly onNew?: (input: Uint8Array) => void;
  /** Asked after each input: whether it reached code that none before it did. Default: only outcomes count. */
  readonly reachedNew?: (input: Uint8Array) => boolean;
}

/** An input for which a property does not hold. */
export class FuzzFailure extends Error {
  override readonly name: string = "FuzzFailure";
  readonly input: Uint8Array;

  constructor(target: Target, seed: number, input: Uint8Array, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      [
        `${target.name}: ${reason}`,
        `seed ${seed}, ${input.length} bytes: ${JSON.stringify(Buffer.from(input.subarray(0, SHOWN)).toString("latin1"))}`,
        `To try it again: npm run fuzz -- ${target.name} --input ${saveFailure(target.name, input)}`,
      ].join("\n"),
      { cause },
    );
    this.input = input;
  }
}

/** Of an input in a message. The file has all of it. */
const SHOWN = 400;

/** What a run did. */
export interface RunReport {
  readonly cases: number;
  /** Kinds of outcomes. */
  readonly outcomes: number;
}

/** Random changes are short. Repetition makes inputs as long as they may get. */
const SHORT = 8192;
const LONG_CASES = 3;

/** Tries the corpus, then inputs that are made of it. @throws FuzzFailure for the first input that breaks a property. */
export async function runTarget(target: Target, options: RunOptions): Promise<RunReport> {
  const { seed, cases, corpus, isOver = () => false, onNew = () => undefined, reachedNew = () => false } = options;
  const seen = new Set<Outcome>();
  const seeds = target.seeds.map((seed) =>
    typeof seed === "string" ? new Uint8Array(Buffer.from(seed, "utf8")) : seed,
  );
  const pool: Uint8Array[] = [];
  let done = 0;
  const add = async (input: Uint8Array, isKept: boolean): Promise<void> => {
    const outcome = await tryInput(target, seed, input);
    done += 1;
    const isNew = !seen.has(outcome) || reachedNew(input);
    seen.add(outcome);
    if (isKept || isNew) pool.push(input);
    if (isNew && !isKept) onNew(input);
  };
  for (const input of [new Uint8Array(), ...seeds, ...corpus]) await add(input, true);
  for (let index = 0; index < cases && !isOver(); index += 1) {
    const random = createRandom(seed, `${target.name}/${index}`);
    const input = mutate({ structure: target.structure, pool, words: target.words ?? [] }, random);
    await add(input.subarray(0, Math.min(SHORT, longestOf(target))), false);
  }
  for (let index = 0; index < LONG_CASES && !isOver(); index += 1) {
    const random = createRandom(seed, `${target.name}/long/${index}`);
    await tryInput(target, seed, repeated(random.pick(pool), longestOf(target), random.int(4)));
    done += 1;
  }
  return { cases: done, outcomes: seen.size };
}

function longestOf({ longest = 262_144 }: Target): number {
  return longest;
}

/** A short part many times, at the beginning, in the middle or at the end. */
function repeated(input: Uint8Array, length: number, kind: number): Uint8Array {
  if (input.length === 0) return new Uint8Array(length).fill(0x20);
  const middle = input.length >> 1;
  const part = kind === 0 ? input : input.subarray(middle, middle + kind);
  const many = Buffer.alloc(Math.max(0, length - input.length), part.length === 0 ? " " : Buffer.from(part));
  return new Uint8Array(Buffer.concat([input.subarray(0, middle), many, input.subarray(middle)]));
}

/** Tries one input. @throws FuzzFailure with a shorter input if one breaks the same property. */
export async function tryInput(target: Target, seed: number, input: Uint8Array): Promise<Outcome> {
  try {
    return await check(target, input);
  } catch (error) {
    const smaller = await shrink(input, error, (candidate) => check(target, candidate));
    throw new FuzzFailure(target, seed, smaller, error);
  }
}

function check(target: Target, input: Uint8Array): Outcome | Promise<Outcome> {
  // A copy, so that a parser that changes its input does not change the pool.
  const bytes = new Uint8Array(input);
  return limited(() => target.check(bytes, createProbe(bytes)));
}
