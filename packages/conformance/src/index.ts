export { SLOW_FAULT_MS } from "./fault.ts";
export type { Fault } from "./fault.ts";
export type { OpeningLimits, SignerCheck, SignerHarness } from "./harness.ts";
export { signerChecks } from "./signer-checks.ts";
