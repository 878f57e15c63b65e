import { lanesPicture } from "./lanes.mjs";

/** The rotation at the top of docs/rotation.md, in hours of the day, with the slowest caches. */
export function rotationPicture() {
  const [end, retired] = [16, 15 + 2 / 60];
  return lanesPicture({
    title:
      "A rotation. Replicas publish key 07 at 08:00. The cache has it by 10:00, the relying party by 12:00. Key 07 signs from 14:00. Key 01 is no longer published after 15:02.",
    from: 7,
    to: end,
    height: 405,
    moments: [
      { at: 8, label: ["08:00", "07 is", "announced"] },
      { at: 10, label: ["by 10:00", "the cache", "has 07"] },
      { at: 12, label: ["by 12:00", "every RP", "has 07"] },
      { at: 14, label: ["14:00", "07 signs"] },
      { at: retired, label: ["15:02", "01 leaves"] },
    ],
    lanes: [
      {
        name: "signs",
        width: 46,
        stretches: [
          { until: 14, color: "old", words: ["01"] },
          { until: end, color: "new", words: ["07"] },
        ],
      },
      {
        name: "replicas",
        width: 66,
        stretches: [
          { until: 8, color: "old", words: ["01"] },
          { until: retired, color: "new", words: ["01, 07"] },
          { until: end, color: "new", words: ["07"] },
        ],
      },
      {
        name: "cache",
        width: 66,
        stretches: [
          { until: 10, color: "old", words: ["01"] },
          { until: retired + 5 / 60, color: "new", words: ["01, 07"] },
          { until: end, color: "new", words: ["07"] },
        ],
      },
      {
        name: "RP",
        width: 66,
        stretches: [
          { until: 12, color: "old", words: ["01"] },
          { until: retired + 10 / 60, color: "new", words: ["01, 07"] },
          { until: end, color: "new", words: ["07"] },
        ],
      },
    ],
    notes: [
      "The slowest case: the cache fetched the old set just",
      "before 08:00, and the RP fetched it from the cache just",
      "before 10:00. Each may keep it for 2 hours.",
    ],
  });
}
