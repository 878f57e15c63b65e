/** Whether the long tier of tests runs. */
const isSoak = process.env["SIGNPOST_TIER"] === "soak";

/** All of a list in the long tier. In the quick one `count` of them, spread evenly, with the first and the last. */
export function chosen<Item>(list: readonly Item[], count: number): readonly Item[] {
  if (isSoak || list.length <= count) return list;
  const step = (list.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, at) => list[Math.round(at * step)]).filter((item) => item !== undefined);
}
