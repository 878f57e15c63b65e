import { ConfigurationError } from "../errors.ts";

/** Reports a problem to the operator. No request fails because of it. */
export type TellOperator<Problem = ConfigurationError> = (problem: Problem) => void;

/**
 * Calls `onError` in a microtask, so that its errors reach no request. Default: a process warning.
 *
 * @example
 * ```ts
 * import { ConfigurationError } from "@signpost/core";
 * import { operatorReport } from "@signpost/core/adapter";
 *
 * const tell = operatorReport((problem) => console.error(problem.message));
 * tell(new ConfigurationError("endpoint", "expected the endpoint of this OP"));
 * ```
 */
export function operatorReport<Problem = ConfigurationError>(
  onError: TellOperator<Problem> = (problem) => process.emitWarning(messageOf(problem), "SignpostWarning"),
): TellOperator<Problem> {
  const tell = async (problem: Problem): Promise<void> => onError(problem);
  return (problem) => {
    queueMicrotask(() => void tell(problem).catch(() => {}));
  };
}

function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}

/**
 * RPs refuse a token that lives longer than the schedule publishes its key. It is still signed, because the host has
 * already used up the code by then. The operator gets one report.
 *
 * @example
 * ```ts
 * import type { RotationSchedule } from "@signpost/core";
 * import { expiryReport, operatorReport } from "@signpost/core/adapter";
 *
 * export const lateExpiry = (schedule: RotationSchedule): ((exp: unknown) => void) =>
 *   expiryReport(() => schedule.latestExpiry(), operatorReport());
 * ```
 */
export function expiryReport(latestExpiry: (() => number) | undefined, tell: TellOperator): (exp: unknown) => void {
  let told = false;
  return (exp) => {
    if (told || latestExpiry === undefined || typeof exp !== "number") return;
    const excess = exp - latestExpiry();
    if (excess <= 0) return;
    told = true;
    const problem = `increase it by at least ${Math.ceil(excess)} s: a token of the host expires after its key is withdrawn`;
    tell(new ConfigurationError("maxTokenLifetimeSeconds", problem));
  };
}
