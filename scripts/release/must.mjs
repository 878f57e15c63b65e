/**
 * Throws if a program failed.
 *
 * @param {string} what
 * @param {{ ok: boolean, output: string }} result
 */
export function must(what, { ok, output }) {
  if (!ok) throw new Error(`${what} failed:\n${output}`);
}
