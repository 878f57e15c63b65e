import { readJson } from "../lib/repository.mjs";

/** Files that take less than 2 seconds have no duration. */
const DURATIONS = "test/durations.json";

/** Whether a test file takes no longer than it may. @param {number} longest seconds @param {string} path */
export function isWithin(longest, path) {
  return (readJson(DURATIONS)[path] ?? 0) <= longest;
}
