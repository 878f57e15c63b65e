/** Enough for the short inputs that break something. A parser that does not end is tried once only. */
const MOST_TRIES = 400;

/** Removes parts of an input as long as the rest fails in the same way. */
export async function shrink(
  input: Uint8Array,
  failure: unknown,
  check: (candidate: Uint8Array) => unknown,
): Promise<Uint8Array> {
  const kind = kindOf(failure);
  if (kind.includes("does not end")) return input;
  let smallest = input;
  let tries = 0;
  for (let size = input.length >> 1; size > 0; size >>= 1) {
    for (let start = 0; start < smallest.length && tries < MOST_TRIES;) {
      tries += 1;
      const candidate = new Uint8Array([...smallest.subarray(0, start), ...smallest.subarray(start + size)]);
      if (await failsLike(kind, candidate, check)) smallest = candidate;
      else start += size;
    }
  }
  return smallest;
}

async function failsLike(
  kind: string,
  candidate: Uint8Array,
  check: (candidate: Uint8Array) => unknown,
): Promise<boolean> {
  try {
    await check(candidate);
    return false;
  } catch (error) {
    return kindOf(error) === kind;
  }
}

/** Without the values, which become shorter too. */
function kindOf(error: unknown): string {
  return error instanceof Error ? (error.message.split(":", 1)[0] ?? "") : typeof error;
}
