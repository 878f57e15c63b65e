/**
 * The known name that `name` was probably meant to be, or undefined if none is close. Ignores case.
 *
 * @example
 * ```ts
 * import { nearestName } from "@signpost/core/adapter";
 *
 * const name = nearestName("regoin", ["region", "endpoint"]); // "region"
 * ```
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const wanted = name.slice(0, MAX_LENGTH).toLowerCase();
  const longer = known.find((candidate) => wanted.length >= 3 && candidate.toLowerCase().startsWith(wanted));
  if (longer !== undefined) return longer;
  const close = known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(wanted.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return close[0]?.candidate;
}

/** A longer name is not a typo, and must not take time to compare. */
const MAX_LENGTH = 64;

/** Levenshtein distance: the smallest number of letters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
