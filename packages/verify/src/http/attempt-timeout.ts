/**
 * Time for one address before the next one is tried. Node's 250 ms is less than a connection to another continent may take. Where
 * the next address is of a family that this machine does not have, such a host would never be reached.
 */
const LEAST_ATTEMPT_MS = 1000;

export function attemptTimeoutMs(): number {
  return Math.max(LEAST_ATTEMPT_MS, process.getBuiltinModule("node:net").getDefaultAutoSelectFamilyAttemptTimeout());
}
