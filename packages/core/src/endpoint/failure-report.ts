import { isThenable, swallowRejection } from "../thenable.ts";

export interface FailureReport {
  failed(error: unknown): void;
  recovered(): void;
}

/**
 * Tells `onError` of a failure once, until `recovered`: requests come by the thousand and would all say the same.
 * Nothing that `onError` does reaches the caller.
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
        // There is nobody left to tell, and the request is answered all the same.
      }
    },
    recovered() {
      failing = false;
    },
  };
}
