import type { Ending } from "./attempt-controller.ts";
import type { SignOptions } from "./contract.ts";
import { onAbort } from "./on-abort.ts";

// `Symbol.for`, so that two copies of this package agree.
const ENDING = Symbol.for("@signpost/core/call-ending");

interface Ended {
  readonly [ENDING]?: Ending;
}

/** A class, because defining a getter on each object gives each a separate shape, which takes more time than a timer. */
class AttemptOptions implements SignOptions, Ended {
  readonly [ENDING]: Ending;
  readonly signingInput?: Uint8Array;

  constructor(ending: Ending, signingInput: Uint8Array | undefined) {
    this[ENDING] = ending;
    if (signingInput !== undefined) this.signingInput = signingInput;
  }

  get signal(): AbortSignal {
    return this[ENDING].signal;
  }
}

/** The options of one attempt, and its time as a number. */
class TimedOptions extends AttemptOptions {
  readonly timeoutMs: number;

  constructor(ending: Ending, timeoutMs: number) {
    super(ending, undefined);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * The bounds of a call of `signDigest`, whose options come from `attemptOptions`. `spread`: the backend may copy the bounds by
 * `{ ...bounds }`. Otherwise the signal is made when the backend reads it.
 */
export function attemptBounds(
  call: SignOptions,
  timeoutMs: number,
  spread: boolean,
): { readonly signal: AbortSignal; readonly timeoutMs: number } {
  const ending = (call as Ended)[ENDING];
  if (ending !== undefined && !spread) return new TimedOptions(ending, timeoutMs);
  const { signal = AbortSignal.timeout(timeoutMs) } = call;
  return { signal, timeoutMs };
}

/**
 * Whether the signal of this call of `signDigest` has aborted. Same as `signal.aborted`, but makes no signal. It also takes
 * the bounds of a `RemoteBackend`.
 *
 * @example
 * ```ts
 * import type { SignOptions } from "@signpost/core";
 * import { closedError, hasCallEnded } from "@signpost/core/adapter";
 *
 * export function requireTime(call: SignOptions): void {
 *   if (hasCallEnded(call)) throw closedError();
 * }
 * ```
 */
export function hasCallEnded(call: SignOptions): boolean {
  return (call as Ended)[ENDING]?.aborted ?? call.signal?.aborted === true;
}

/**
 * The options of one attempt. The signal is made when the backend reads it. `spread`: the backend may copy the options by
 * `{ ...options }`.
 */
export function attemptOptions(
  signingInput: Uint8Array | undefined,
  ending: Ending | undefined,
  spread: boolean,
): SignOptions {
  if (ending === undefined) return signingInput === undefined ? {} : { signingInput };
  if (!spread) return new AttemptOptions(ending, signingInput);
  return {
    get signal(): AbortSignal {
      return ending.signal;
    },
    ...(signingInput !== undefined && { signingInput }),
  };
}

/**
 * Calls `callback` once with the reason: when the signal of this call of `signDigest` aborts, or now if it has already
 * aborted. Returns a function that removes the callback. Same as `onAbort`, but makes no signal, which takes longer than
 * everything else in a guarded call. For backends that pass the signal to no one. It also takes the bounds of a
 * `RemoteBackend`.
 *
 * @example
 * ```ts
 * import type { SignOptions } from "@signpost/core";
 * import { endedError, onCallEnd } from "@signpost/core/adapter";
 *
 * declare function signSoon(digest: Uint8Array): Promise<Uint8Array>;
 *
 * export const signDigest = (digest: Uint8Array, call: SignOptions): Promise<Uint8Array> =>
 *   new Promise((resolve, reject) => {
 *     const letGo = onCallEnd(call, (reason) => reject(endedError(reason)));
 *     signSoon(digest).then(resolve, reject).finally(letGo);
 *   });
 * ```
 */
export function onCallEnd(call: SignOptions, callback: (reason: unknown) => void): () => void {
  const ending = (call as Ended)[ENDING];
  if (ending !== undefined) return ending.onEnd(() => callback(ending.reason));
  const { signal } = call;
  return onAbort(signal, () => callback(signal?.reason));
}
