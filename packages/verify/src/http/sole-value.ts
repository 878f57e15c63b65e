/** A field with one value is never longer, even if a server repeats it. */
const MAX_LENGTH = 1000;

/** The value of a field that was sent several times with the same value. The Fetch API joins them with commas. */
export function soleValue(value: string): string {
  if (value.length > MAX_LENGTH) return value;
  return /^(.+?)(?:\s*,\s*\1)+$/.exec(value)?.[1] ?? value;
}
