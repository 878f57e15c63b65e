import { ConfigurationError } from "@signpost/core";

/** Where the operator is told of what fails no request. */
export type TellOperator = (problem: ConfigurationError) => void;

/** Tells `onError`, later and by itself: what it throws reaches no request. Default: a warning of the process. */
export function operatorReport(
  onError: TellOperator = (problem) => process.emitWarning(problem.message, "SignpostWarning"),
): TellOperator {
  const tell = async (problem: ConfigurationError): Promise<void> => onError(problem);
  return (problem) => {
    queueMicrotask(() => void tell(problem).catch(() => {}));
  };
}

/** Hints that are refused for want of a place look like any other refused hint, so the operator must be told. */
export function crowdReport(places: number, tell: TellOperator): (count: number) => void {
  let crowded = false;
  return (count) => {
    const before = crowded;
    crowded = places > 0 && count > places;
    if (!crowded || before) return;
    const problem = `expected at least ${count}, the number of keys without the active one: hints of the oldest are refused`;
    tell(new ConfigurationError("verifyingKeys", problem));
  };
}

/**
 * A token that outlives its key's place in the schedule is refused by RPs before it expires. It is signed all the same,
 * since the host has spent the code by then; the operator is told once.
 */
export function expiryReport(latestExpiry: (() => number) | undefined, tell: TellOperator): (exp: unknown) => void {
  let told = false;
  return (exp) => {
    if (told || latestExpiry === undefined || typeof exp !== "number") return;
    const excess = exp - latestExpiry();
    if (excess <= 0) return;
    told = true;
    const problem = `expected at least ${Math.ceil(excess)} s more: a token of the host expires later than its key is published`;
    tell(new ConfigurationError("maxTokenLifetimeSeconds", problem));
  };
}
