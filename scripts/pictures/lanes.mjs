import { line, picture, rect, text, WIDTH } from "./svg.mjs";

/**
 * A chart with time from top to bottom, and a lane for each thing that changes.
 *
 * @typedef {object} Moment
 * @property {number} at position in time
 * @property {readonly string[]} label what happens. The first line is bold
 *
 * @typedef {object} Lane
 * @property {string} name
 * @property {number} width
 * @property {readonly Stretch[]} stretches from top to bottom
 *
 * @typedef {object} Stretch
 * @property {number} until position in time
 * @property {import("./svg.mjs").Color} color
 * @property {readonly string[]} words
 */

const TOP = 26;
const GAP = 6;
const LINE = 15;

/**
 * @param {object} chart
 * @param {string} chart.title
 * @param {number} chart.from position in time of the top
 * @param {number} chart.to position in time of the bottom
 * @param {number} chart.height of the lanes
 * @param {readonly Moment[]} chart.moments
 * @param {readonly Lane[]} chart.lanes
 * @param {readonly string[]} chart.notes below the lanes
 */
export function lanesPicture({ title, from, to, height, moments, lanes, notes }) {
  const y = (/** @type {number} */ at) => Math.round(TOP + ((at - from) / (to - from)) * height);
  const left = WIDTH - 2 - lanes.reduce((sum, { width }) => sum + width + GAP, -GAP);
  const starts = lanes.map((_, index) => lanes.slice(0, index).reduce((sum, { width }) => sum + width + GAP, left));
  return picture(title, TOP + height + 12 + notes.length * LINE, [
    ...moments.flatMap(({ at, label }) => [
      line(0, y(at), WIDTH, y(at), { dashed: true }),
      ...label.map((words, row) => text(0, y(at) + 14 + row * LINE, words, { strong: row === 0 })),
    ]),
    // In front of the dashed lines, which would cross their words.
    ...lanes.flatMap((lane, index) => drawLane(lane, starts[index] ?? 0, y, from)),
    ...notes.map((note, row) => text(0, TOP + height + 18 + row * LINE, note, { color: "soft" })),
  ]);
}

/** @param {Lane} lane @param {number} x @param {(at: number) => number} y @param {number} from */
function drawLane({ name, width, stretches }, x, y, from) {
  const middle = x + width / 2;
  return [
    text(middle, 16, name, { anchor: "middle", strong: true }),
    ...stretches.flatMap(({ until, color, words }, index) => {
      const start = y(stretches[index - 1]?.until ?? from);
      const end = y(until);
      const first = (start + end) / 2 + 4 - ((words.length - 1) * LINE) / 2;
      return [
        rect(x, start, width, end - start, color),
        ...words.map((word, row) => text(middle, first + row * LINE, word, { anchor: "middle" })),
      ];
    }),
  ];
}
