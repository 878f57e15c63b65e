/** A time with three figures and its unit: `25.4 ms`. */
export function time(ms: number): string {
  const sign = ms < 0 ? "-" : "";
  const size = Math.abs(ms);
  // What would be rounded up to a thousand belongs to the next unit.
  if (size < 0.9995) return `${sign}${figures(size * 1000)} µs`;
  if (size < 999.5) return `${sign}${figures(size)} ms`;
  return `${sign}${figures(size / 1000)} s`;
}

/** Three figures. */
export function figures(value: number): string {
  if (value >= 99.95) return whole(Math.round(value));
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

export function whole(value: number): string {
  return value.toLocaleString("en-US");
}
