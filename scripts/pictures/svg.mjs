// Parts of a picture for the guides. A picture is as wide as a phone, and has colors for light and dark pages.

/** In units of the picture, which are CSS pixels on a phone. */
export const WIDTH = 360;

/**
 * @typedef {"paper" | "ink" | "soft" | "line" | "old" | "new" | "box" | "red" | "green" | "yellow" | "cyan"} Color `old` and `new`: the old and the new key, and everything that knows them
 * @typedef {"start" | "middle" | "end"} Anchor
 */

/** @type {Readonly<Record<Color, { light: string, dark: string }>>} */
const COLORS = {
  paper: { light: "#ffffff", dark: "#0d1117" },
  ink: { light: "#1f2328", dark: "#f0f6fc" },
  soft: { light: "#59636e", dark: "#9198a1" },
  line: { light: "#818b98", dark: "#656c76" },
  old: { light: "#ffe2c4", dark: "#6b3a06" },
  new: { light: "#cfe5ff", dark: "#0f3f76" },
  box: { light: "#f1f3f5", dark: "#20262e" },
  red: { light: "#cf222e", dark: "#ff7b72" },
  green: { light: "#116329", dark: "#56d364" },
  yellow: { light: "#7d4e00", dark: "#e3b341" },
  cyan: { light: "#1b6b72", dark: "#56d4dd" },
};

/**
 * @param {string} title screen readers read it instead of the picture
 * @param {number} height
 * @param {readonly string[]} parts
 * @param {{ width?: number, scale?: number }} [size] `scale`: how large it is shown
 */
export function picture(title, height, parts, { width = WIDTH, scale = 1.3 } = {}) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width * scale}" height="${height * scale}" viewBox="0 0 ${width} ${height}">`,
    `<title>${escaped(title)}</title>`,
    "<style>",
    "text { font: 12px system-ui, 'Segoe UI', Roboto, sans-serif; }",
    ".strong { font-weight: 600; }",
    "text.mono { font: 12px ui-monospace, 'SFMono-Regular', Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }",
    ...rules("light"),
    "@media (prefers-color-scheme: dark) {",
    ...rules("dark"),
    "}",
    "</style>",
    rect(0, 0, width, height, "paper", { border: false }),
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

/** @param {"light" | "dark"} scheme */
function rules(scheme) {
  return Object.entries(COLORS).flatMap(([name, { [scheme]: color }]) => [
    `.f-${name} { fill: ${color}; }`,
    `.s-${name} { stroke: ${color}; }`,
  ]);
}

/**
 * @param {number} x @param {number} y of the baseline
 * @param {string} content
 * @param {{ anchor?: Anchor, strong?: boolean, color?: Color }} [style]
 */
export function text(x, y, content, { anchor = "start", strong = false, color = "ink" } = {}) {
  const classes = strong ? `f-${color} strong` : `f-${color}`;
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" class="${classes}">${escaped(content)}</text>`;
}

/**
 * @param {number} x @param {number} y @param {number} width @param {number} height
 * @param {Color} fill
 * @param {{ border?: boolean, round?: number }} [style]
 */
export function rect(x, y, width, height, fill, { border = true, round = 0 } = {}) {
  const classes = border ? `f-${fill} s-line` : `f-${fill}`;
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${round}" class="${classes}"/>`;
}

/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {{ dashed?: boolean }} [style] */
export function line(x1, y1, x2, y2, { dashed = false } = {}) {
  const dashes = dashed ? ` stroke-dasharray="3 3"` : "";
  return `<path d="M${x1} ${y1}L${x2} ${y2}" fill="none" class="s-line"${dashes}/>`;
}

/**
 * A line through the points, with an arrowhead at its end.
 * @param {...(readonly [number, number])} points
 */
export function arrow(...points) {
  const [[fromX, fromY] = [0, 0], [x, y] = [0, 0]] = points.slice(-2);
  const [dx, dy] = [Math.sign(x - fromX), Math.sign(y - fromY)];
  const wing = (/** @type {1 | -1} */ side) => `${x - 7 * dx + side * 4 * dy} ${y - 7 * dy + side * 4 * dx}`;
  const path = points.map((point) => point.join(" ")).join("L");
  return [
    `<path d="M${path}" fill="none" class="s-soft"/>`,
    `<path d="M${x} ${y}L${wing(1)}L${wing(-1)}Z" class="f-soft"/>`,
  ].join("");
}

/** @param {string} content */
export function escaped(content) {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
