import { ConfigurationError } from "@signpost/core";

/** Reports a problem to the operator. No request fails because of it. */
export type TellOperator = (problem: ConfigurationError) => void;

/** Calls `onError` in a microtask, so that its errors reach no request. Default: a process warning. */
export function operatorReport(
  onError: TellOperator = (problem) => process.emitWarning(problem.message, "SignpostWarning"),
): TellOperator {
  const tell = async (problem: ConfigurationError): Promise<void> => onError(problem);
  return (problem) => {
    queueMicrotask(() => void tell(problem).catch(() => {}));
  };
}

/** A hint that is refused because there is no place for its key looks like any other refused hint. So this is reported. */
export function crowdReport(places: number, tell: TellOperator): (count: number) => void {
  let crowded = false;
  return (count) => {
    const before = crowded;
    crowded = places > 0 && count > places;
    if (!crowded || before) return;
    const problem = `expected at least ${count}, the number of keys that only verify; hints of the oldest keys are refused`;
    tell(new ConfigurationError("verifyingKeys", problem));
  };
}

/**
 * RPs refuse a token that lives longer than the schedule publishes its key. It is still signed, because the host has
 * already used up the code by then. The operator gets one report.
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
