/** @typedef {import("./lane.mjs").Lane} Lane */
/** @typedef {import("./render.mjs").Planted} Planted */
/**
 * What the tests do without a mutant.
 *
 * @typedef {object} Baseline
 * @property {ReadonlyMap<string, number>} durations of each test file that passes, in milliseconds
 * @property {readonly { file: string, failure: string }[]} failed what fails without a mutant: it says nothing about one
 * @property {ReadonlyMap<number, readonly string[]>} reached the test files that reach a mutant
 */
/**
 * @typedef {object} Verdict
 * @property {Planted} mutant
 * @property {"killed" | "late" | "survived" | "unreached"} end `late`: a test file did not end
 * @property {string} by the test that failed. Empty if none did
 * @property {number} files how many test files ran
 */

const BASELINE_LIMIT_MS = 600_000;

/** Machines are slow at times. Only what is late by far counts. @param {number} durationMs without a mutant */
export function usualLimit(durationMs) {
  return 15_000 + 4 * durationMs;
}

/**
 * Runs each test file once, to learn which mutants it reaches and how long it takes.
 *
 * @param {readonly Lane[]} lanes
 * @param {readonly string[]} files
 * @returns {Promise<Baseline>}
 */
export async function runBaseline(lanes, files) {
  /** @type {Map<string, number>} */
  const durations = new Map();
  /** @type {{ file: string, failure: string }[]} */
  const failed = [];
  const runFile = (/** @type {Lane} */ lane, /** @type {string} */ file) =>
    lane.runFile(file, { active: null, limitMs: BASELINE_LIMIT_MS, record: true });
  await share(lanes, files, async (lane, file) => {
    const first = await runFile(lane, file);
    const { ok, failure, ms } = first.ok ? first : await runFile(lane, file);
    if (ok) durations.set(file, ms);
    else failed.push({ file, failure });
  });
  /** @type {Map<number, string[]>} */
  const reached = new Map();
  for (const { file, id } of lanes.flatMap((lane) => lane.readHits())) {
    if (!durations.has(file)) continue;
    const others = reached.get(id) ?? [];
    if (!others.includes(file)) reached.set(id, [...others, file]);
  }
  return { durations, failed, reached };
}

/**
 * Runs the tests that reach each mutant, until one fails. Callers hear of each verdict as it falls. No other mutant begins once
 * `isOver` says so.
 *
 * @param {readonly Lane[]} lanes
 * @param {readonly Planted[]} mutants
 * @param {Baseline} baseline
 * @param {{ onVerdict: (verdict: Verdict) => void, limitOf: (durationMs: number) => number, isOver: () => boolean }} options
 * @returns {Promise<readonly Verdict[]>} in the order of the mutants
 */
export async function judgeAll(lanes, mutants, baseline, { onVerdict, limitOf, isOver }) {
  /** @type {Verdict[]} */
  const verdicts = [];
  await share(lanes, mutants, async (lane, mutant) => {
    if (isOver()) return;
    const files = likelyFirst(mutant, baseline, verdicts);
    const limits = files.map((file) => limitOf(baseline.durations.get(file) ?? 0));
    const verdict = await judge(lane, mutant, files, limits);
    verdicts.push(verdict);
    onVerdict(verdict);
  });
  return verdicts.toSorted((one, other) => one.mutant.id - other.mutant.id);
}

/**
 * @param {Lane} lane
 * @param {Planted} mutant
 * @param {readonly string[]} files
 * @param {readonly number[]} limits of each file, in milliseconds
 * @returns {Promise<Verdict>}
 */
async function judge(lane, mutant, files, limits) {
  if (files.length === 0) return { mutant, end: "unreached", by: "", files: 0 };
  for (const [index, file] of files.entries()) {
    const limitMs = limits[index] ?? 0;
    const first = await lane.runFile(file, { active: mutant.id, limitMs });
    if (first.ok) continue;
    // A failure by chance is no kill: it happens twice.
    const again = await lane.runFile(file, { active: mutant.id, limitMs: 2 * limitMs });
    if (again.ok) continue;
    const end = again.isLate ? "late" : "killed";
    return { mutant, end, by: `${file}: ${again.failure}`, files: index + 1 };
  }
  return { mutant, end: "survived", by: "", files: files.length };
}

/**
 * The test files that reach a mutant. What killed others of the same source comes first, then what is named like it, then what is
 * short.
 *
 * @param {Planted} mutant
 * @param {Baseline} baseline
 * @param {readonly Verdict[]} verdicts
 */
export function likelyFirst(mutant, { durations, reached }, verdicts) {
  const kills = (/** @type {string} */ file) =>
    verdicts.filter((verdict) => verdict.mutant.file === mutant.file && verdict.by.startsWith(`${file}: `)).length;
  const rank = (/** @type {string} */ file) =>
    ((durations.get(file) ?? 0) + 300) / (1 + 4 * kills(file) + 4 * sharedWords(mutant.file, file));
  return (reached.get(mutant.id) ?? []).toSorted((one, other) => rank(one) - rank(other));
}

/** @param {string} source @param {string} test */
function sharedWords(source, test) {
  const words = (/** @type {string} */ path) => path.split(/[/.-]/).slice(2);
  const named = new Set(words(test));
  return words(source).filter((word) => word !== "ts" && word !== "src" && named.has(word)).length;
}

/**
 * Each lane takes the next item when it is done with one.
 *
 * @template T
 * @param {readonly Lane[]} lanes
 * @param {readonly T[]} items
 * @param {(lane: Lane, item: T) => Promise<void>} work
 */
async function share(lanes, items, work) {
  const queue = [...items];
  const drain = async (/** @type {Lane} */ lane) => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(lane, item);
  };
  await Promise.all(lanes.map(drain));
}
