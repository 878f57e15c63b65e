import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "../lib/repository.mjs";
import { escaped, picture, rect } from "./svg.mjs";

/** What commands printed on a terminal, with a line `$ command` before it. The tests of the command write and compare them. */
const TRANSCRIPTS = "packages/cli/test/transcripts";

const CHARACTER = 7.25;
const LINE = 17;
const PAD = 12;
/** Lines of the terminal. A transcript is never wider. */
const COLUMNS = 100;
/** As wide as a page shows it. */
const SCALE = 1.1;

/** The pictures of all transcripts, by their files. @returns {Readonly<Record<string, string>>} */
export function terminalPictures() {
  const files = readdirSync(join(ROOT, TRANSCRIPTS)).filter((name) => name.endsWith(".ansi"));
  return Object.fromEntries(
    files.map((file) => {
      const text = readFileSync(join(ROOT, TRANSCRIPTS, file), "utf8");
      return [`docs/img/cli-${basename(file, ".ansi")}.svg`, terminalPicture(text)];
    }),
  );
}

/** @param {string} transcript */
function terminalPicture(transcript) {
  const lines = transcript.trimEnd().split("\n");
  const [command = ""] = lines;
  const width = Math.ceil(COLUMNS * CHARACTER + 2 * PAD);
  const height = lines.length * LINE + 2 * PAD;
  const parts = lines.map((content, row) => drawLine(content, PAD + row * LINE + 13));
  const frame = rect(0.5, 0.5, width - 1, height - 1, "box", { round: 8 });
  return picture(`A terminal: ${command.replace("$ ", "")}`, height, [frame, ...parts], { width, scale: SCALE });
}

/** @typedef {{ color: import("./svg.mjs").Color, strong: boolean }} Style */

/** What an escape sequence changes. @type {Readonly<Record<string, Partial<Style>>>} */
const CHANGES = {
  0: { color: "ink", strong: false },
  1: { strong: true },
  2: { color: "soft" },
  22: { color: "ink", strong: false },
  31: { color: "red" },
  32: { color: "green" },
  33: { color: "yellow" },
  36: { color: "cyan" },
  39: { color: "ink" },
};

/** @param {string} content @param {number} y of the baseline */
function drawLine(content, y) {
  /** @type {Style} */
  let style = { color: "ink", strong: content.startsWith("$ ") };
  let column = 0;
  const spans = content.split("\u001B[").map((part, index) => {
    const [, code = "", words = part] = index === 0 ? [] : (/^(\d+)m(.*)$/s.exec(part) ?? []);
    style = { ...style, ...CHANGES[code] };
    const x = PAD + column * CHARACTER;
    column += [...words].length;
    if (words.trim() === "") return "";
    const classes = `mono f-${style.color}${style.strong ? " strong" : ""}`;
    const length = ([...words].length * CHARACTER).toFixed(1);
    return `<text x="${x.toFixed(1)}" y="${y}" textLength="${length}" xml:space="preserve" class="${classes}">${escaped(words)}</text>`;
  });
  return spans.join("");
}
