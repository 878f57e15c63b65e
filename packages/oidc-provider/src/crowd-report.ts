import { ConfigurationError } from "@signpost/core";
import type { TellOperator } from "@signpost/core/adapter";

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
