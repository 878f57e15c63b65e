/** A field with one value is never longer, even if a server repeats it. */
const MAX_LENGTH = 1000;

/** The value of a field that was sent several times with the same value. The Fetch API joins them with commas. */
export function soleValue(value: string): string {
  if (value.length > MAX_LENGTH) return value;
  // A value may contain commas, as dates do. So one value may be several pieces.
  const pieces = value.split(",");
  for (let size = 1; size <= pieces.length / 2; size += 1) {
    const repeated = pieces.length % size === 0 ? soleChunk(pieces, size) : undefined;
    if (repeated !== undefined) return repeated;
  }
  return value;
}

function soleChunk(pieces: readonly string[], size: number): string | undefined {
  const chunk = (start: number): string =>
    pieces
      .slice(start, start + size)
      .join(",")
      .trim();
  const first = chunk(0);
  for (let start = size; start < pieces.length; start += size) {
    if (chunk(start) !== first) return undefined;
  }
  return first === "" ? undefined : first;
}
