const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** A duration for people: the two largest units, such as `1 h 5 min`. */
export function duration(seconds: number): string {
  let left = Math.round(seconds);
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`);
    left -= count * size;
  }
  return parts.length === 0 ? "0 s" : parts.join(" ");
}
