import { isThenable, swallowRejection } from "../thenable.ts";

export interface FailureReport {
  failed(error: unknown): void;
  recovered(): void;
}

/**
 * Reports a failure to `onError` only once until `recovered`, since thousands of requests would all report the same. If
 * `onError` throws, the caller does not see it.
 */
export function createFailureReport(onError: ((error: unknown) => void) | undefined): FailureReport {
  let failing = false;
  return {
    failed(error) {
      if (failing) return;
      failing = true;
      try {
        const result: unknown = onError?.(error);
        if (isThenable(result)) swallowRejection(result);
      } catch {
        // There is nowhere else to report it, and the request still gets its answer.
      }
    },
    recovered() {
      failing = false;
    },
  };
}
