const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** A duration for people, with its largest unit and what is left in the next one: `5 min`, `2 h 10 min`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const first = UNITS.findIndex(([, size]) => whole >= size);
  if (first === -1) return "0 s";
  const [[unit, size] = ["s", 1], next] = UNITS.slice(first);
  const rest = next === undefined ? 0 : Math.floor((whole % size) / next[1]);
  return `${Math.floor(whole / size)} ${unit}${rest > 0 ? ` ${rest} ${next?.[0]}` : ""}`;
}
