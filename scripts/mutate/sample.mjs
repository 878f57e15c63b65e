/**
 * A choice of `size` items. The same seed chooses the same ones of the same items, in the same order.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {number} size
 * @param {number} seed
 * @returns {readonly T[]}
 */
export function sample(items, size, seed) {
  const random = randomFrom(seed);
  const rest = [...items];
  const chosen = [];
  while (chosen.length < size && rest.length > 0) chosen.push(...rest.splice(Math.floor(random() * rest.length), 1));
  return chosen;
}

/** mulberry32: numbers from 0 to below 1. @param {number} seed @returns {() => number} */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
