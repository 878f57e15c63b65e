/** Numbers that depend on nothing but the seed, so that a run can be repeated. */
export interface Random {
  /** A whole number from 0 to `below - 1`. */
  int(below: number): number;
  /** True once in `times`. */
  chance(times: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** `stream` separates the numbers of targets and cases that share a seed. */
export function createRandom(seed: number, stream: string): Random {
  let state = (hashOf(stream) ^ Math.imul(seed, 0x9e3779b1)) >>> 0;
  // splitmix32.
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  const int = (below: number): number => (below <= 1 ? 0 : Math.floor((next() / 2 ** 32) * below));
  return {
    int,
    chance: (times) => int(times) === 0,
    pick: <T>(list: readonly T[]): T => {
      const found = list[int(list.length)];
      if (found === undefined) throw new RangeError("nothing to pick from");
      return found;
    },
  };
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
