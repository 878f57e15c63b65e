/** Numbers that look random and follow from a seed. */
export interface Random {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number;
  /** The same items in another order. */
  shuffled<Item>(items: readonly Item[]): Item[];
}

/** Mulberry32: small, and good enough to vary a schedule. `seed`: a whole number. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    shuffled: (items) => {
      const copy = [...items];
      // Fisher and Yates: the last item changes places with one before it, and so on.
      for (let last = copy.length - 1; last > 0; last -= 1) {
        const other = between(0, last);
        const [a, b] = [copy[last], copy[other]] as [(typeof copy)[number], (typeof copy)[number]];
        copy[last] = b;
        copy[other] = a;
      }
      return copy;
    },
  };
}
