import { SignerError } from "@signpost/core";
import { endedError } from "@signpost/core/adapter";
import { signerErrorFromKms } from "./errors.ts";

/** One call of KMS, its error always a `SignerError`. `operation` is its name in policies. */
export async function callKms<Answer>(
  operation: string,
  signal: AbortSignal | undefined,
  call: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    // A client reports an abort in many ways: as a cut connection when the head of the answer has come.
    if (signal?.aborted === true) throw endedError(signal.reason);
    throw signerErrorFromKms(error, operation);
  }
}

/**
 * Runs something that ends with its signal, and is left behind if it does not: the signal aborts with the caller's,
 * which has not aborted yet, and with `timeout` when `deadlineMs` is over.
 */
export async function withinDeadline<Result>(
  deadlineMs: number,
  caller: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const { signal } = controller;
  const onAbort = (): void => controller.abort(endedError(caller?.reason));
  caller?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => controller.abort(new SignerError("timeout", `not opened within the deadline of ${deadlineMs} ms`)),
    deadlineMs,
  );
  try {
    return await new Promise<Result>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(endedError(signal.reason)), { once: true });
      run(signal).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    caller?.removeEventListener("abort", onAbort);
  }
}
