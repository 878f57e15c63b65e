/** One line of progress. @param {string} text */
export function say(text) {
  process.stdout.write(`${text}\n`);
}

/** A line that must not be missed. @param {string} text */
export function warn(text) {
  process.stdout.write(`\n! ${text}\n\n`);
}

/** Output of a program that failed, indented below its line. @param {string} text */
export function sayOutput(text) {
  for (const line of text.trimEnd().split("\n")) say(`    ${line}`);
}

/** @param {number} startedMs */
export function secondsSince(startedMs) {
  return `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
}
