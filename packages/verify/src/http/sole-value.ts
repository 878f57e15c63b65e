/** No field that has one value is longer, however often a server repeats it. */
const MAX_LENGTH = 1000;

/** The value of a field that was sent more than once, each time the same: the Fetch API joins them by commas. */
export function soleValue(value: string): string {
  if (value.length > MAX_LENGTH) return value;
  return /^(.+?)(?:\s*,\s*\1)+$/.exec(value)?.[1] ?? value;
}
