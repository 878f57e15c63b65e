import { ConfigurationError } from "@signpost/core";

// What an option accepts is tested at its bounds and next to them, through the public function that takes it.

/** The longest time of a Node timer, the highest value of an option that is a time. Milliseconds. */
export const LONGEST_MS = 2_147_483_647;

/** Uses an option with each value. Returns the values that a `ConfigurationError` about this option refused. */
export async function refusedValues<Value>(
  option: string,
  use: (value: Value) => unknown,
  values: readonly Value[],
): Promise<readonly Value[]> {
  const refused: Value[] = [];
  for (const value of values) {
    const error = await errorOf(async () => use(value));
    if (error instanceof ConfigurationError && error.argument === option) refused.push(value);
  }
  return refused;
}

/**
 * Uses a numeric option at both bounds, and one `step` outside of each. Returns the values that were refused: the two outside,
 * if the bounds are right.
 */
export function refusedAround(
  option: string,
  use: (value: number) => unknown,
  { min, max, step = 1 }: { readonly min: number; readonly max: number; readonly step?: number },
): Promise<readonly number[]> {
  return refusedValues(option, use, [min - step, min, max, max + step]);
}

async function errorOf(use: () => Promise<unknown>): Promise<unknown> {
  try {
    await use();
    return undefined;
  } catch (error) {
    return error;
  }
}
