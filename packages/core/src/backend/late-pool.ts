/** How long libuv's pool may take. Other work can block its threads forever, such as files on a mount that hangs. Milliseconds. */
const PATIENCE_MS = 250;

/** Tasks that the pool has not done in that time. */
let late = 0;

/**
 * Whether tasks are late in libuv's pool now. The next ones should run on the event loop.
 *
 * @example
 * ```ts
 * import { isPoolLate } from "@signpost/core/adapter";
 *
 * export const shouldUsePool = (callsInFlight: number): boolean => callsInFlight > 1 && !isPoolLate();
 * ```
 */
export function isPoolLate(): boolean {
  return late > 0;
}

/**
 * The result of a task in libuv's pool. If the pool is late, the result of the same task on the event loop.
 *
 * @param inPool the task in the pool, which has started.
 * @param doHere does the same task at once.
 * @example
 * ```ts
 * import { type KeyObject, verify } from "node:crypto";
 * import { promisify } from "node:util";
 * import { inPoolOrHere } from "@signpost/core/adapter";
 *
 * const verifyInPool = promisify(verify);
 * export function isSignature(data: Uint8Array, key: KeyObject, signature: Uint8Array): Promise<boolean> {
 *   return inPoolOrHere(verifyInPool("sha256", data, key, signature), () => verify("sha256", data, key, signature));
 * }
 * ```
 */
export function inPoolOrHere<Result>(inPool: Promise<Result>, doHere: () => Result): Promise<Result> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    let turn: NodeJS.Immediate | undefined;
    const doLate = (): void => {
      isLate = true;
      late += 1;
      new Promise<Result>((done) => done(doHere())).then(resolve, reject);
    };
    const timer = setTimeout(() => {
      // After the event loop was busy, the result may already be there. It is read before this.
      turn = setImmediate(doLate);
    }, PATIENCE_MS);
    const end = (): void => {
      clearTimeout(timer);
      clearImmediate(turn);
      if (isLate) late -= 1;
    };
    inPool.then(
      (result) => {
        end();
        resolve(result);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}
