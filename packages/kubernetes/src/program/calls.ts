import type { CallReport } from "../service/events.ts";
import { type Audit, auditLine } from "./audit.ts";
import { failureOf } from "./failure.ts";
import type { Log } from "./log.ts";
import type { Counters } from "./metrics.ts";

/** What is done with each call: it is counted, a failure is logged, and a token has its audit line before it leaves. */
export function callReporter(
  counters: Counters,
  audit: Audit | undefined,
  log: Log,
): (report: CallReport) => Promise<void> {
  return async (report) => {
    const { method, version, code, error } = report;
    if (error !== undefined) log("warn", "call_failed", failureOf(error).message, { code, method, version });
    try {
      if (method === "Sign") await audit?.write(auditLine(report, new Date()));
    } catch (failure) {
      const failed = failureOf(failure);
      counters.call({ ...report, code: failed.code });
      log("error", "audit_failed", failed.message, { code: failed.code });
      throw failure;
    }
    counters.call(report);
  };
}
