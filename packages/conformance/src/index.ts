export { SLOW_FAULT_MS } from "./fault.ts";
export type { Fault } from "./fault.ts";
