import { ConfigurationError, endedError, SignerError } from "@signpost/core";
import { signerErrorFromKms } from "./errors.ts";

/** How long a call may take to settle after its signal, before it is left behind. The SDK needs a few milliseconds. */
const SETTLE_MS = 500;

/**
 * One call of KMS that is bounded by its signal whatever the client does, its error always a `SignerError`.
 * `operation` is its name in policies.
 */
export async function callKms<Answer>(
  operation: string,
  signal: AbortSignal | undefined,
  call: () => Promise<Answer>,
): Promise<Answer> {
  throwIfEnded(signal);
  try {
    return await (signal === undefined ? call() : settledSoon(call(), signal));
  } catch (error) {
    // A client reports an abort in many ways: a cut connection after the head of the answer came.
    throwIfEnded(signal);
    throw signerErrorFromKms(error, operation);
  }
}

function throwIfEnded(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw endedError(signal.reason);
}

function settledSoon<Answer>(call: Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      timer = setTimeout(() => reject(endedError(signal.reason)), SETTLE_MS);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    call.then(
      (answer) => {
        settle();
        resolve(answer);
      },
      (error: unknown) => {
        settle();
        reject(error);
      },
    );
  });
}

/** A signal that aborts with the caller's, or with `timeout` when `timeoutMs` is over. `dispose` lets go of both. */
export function openingSignal(
  timeoutMs: number,
  caller: AbortSignal | undefined,
): { readonly signal: AbortSignal; dispose(): void } {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(caller?.reason);
  if (caller?.aborted === true) onAbort();
  caller?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => controller.abort(new SignerError("timeout", `kms:GetPublicKey gave no answer within ${timeoutMs} ms`)),
    timeoutMs,
  );
  return {
    signal: controller.signal,
    dispose: () => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", onAbort);
    },
  };
}

// The longest delay that a Node timer takes; a longer one fires at once.
const MAX_TIMER_MS = 2_147_483_647;

/** A bound in time that a timer can keep. */
export function milliseconds(argument: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= MAX_TIMER_MS) return value;
  throw new ConfigurationError(argument, `expected a whole number of milliseconds from 1 to ${MAX_TIMER_MS}`);
}
