import { ok } from "node:assert/strict";
import type { GuardPolicy, Signer, SignerErrorCode } from "@signpost/core";
import type { CheckContext } from "./harness.ts";
import { STEADY_POLICY } from "./harness.ts";

/** Longer than any deadline of `STEADY_POLICY`, so only a call that hangs reaches it. Milliseconds. */
export const CALL_BOUND_MS = 35_000;

/** How long a call may take after its signal aborted. The contract says a second, the rest is for busy machines. Milliseconds. */
export const ABORT_BOUND_MS = 3_000;

/** The members of a `SignerError` that the checks read. Recognized by shape, since two copies of core may be installed. */
export interface SignerErrorLike extends Error {
  readonly code: SignerErrorCode;
  readonly transient: boolean;
}

export type Outcome = { readonly signature: Uint8Array } | { readonly error: unknown };

/** Settles like the promise, but rejects if that takes too long. */
export async function within<T>(promise: Promise<T>, boundMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} has not settled within ${boundMs} ms`)), boundMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a call that must return a promise, not throw, and settle in time. */
export async function outcomeOf(call: () => Promise<Uint8Array>, boundMs: number, what: string): Promise<Outcome> {
  const promise = started(call, what);
  const outcome = promise.then(
    (signature): Outcome => ({ signature }),
    (error: unknown): Outcome => ({ error }),
  );
  return within(outcome, boundMs, what);
}

/** The error of a call that must reject with one of the codes. */
export async function rejectionOf(
  call: () => Promise<Uint8Array>,
  codes: readonly SignerErrorCode[],
  what: string,
  boundMs: number = CALL_BOUND_MS,
): Promise<SignerErrorLike> {
  const outcome = await outcomeOf(call, boundMs, what);
  ok("error" in outcome, `${what} gave a signature, expected a rejection with ${codes.join(" or ")}`);
  return signerError(outcome.error, codes, what);
}

const ALWAYS_TRANSIENT: ReadonlySet<SignerErrorCode> = new Set(["unavailable", "throttled", "timeout", "overloaded"]);

/** Asserts the error's class, code and transient flag. */
export function signerError(error: unknown, codes: readonly SignerErrorCode[], what: string): SignerErrorLike {
  ok(isSignerError(error), `${what} rejected with ${describe(error)}, expected a SignerError`);
  ok(
    codes.includes(error.code),
    `${what} rejected with code ${error.code}, expected ${codes.join(" or ")}: ${error.message}`,
  );
  if (error.code !== "integrity") {
    ok(
      error.transient === ALWAYS_TRANSIENT.has(error.code),
      `${what}: transient is ${String(error.transient)} on an error with code ${error.code}`,
    );
  }
  return error;
}

function isSignerError(error: unknown): error is SignerErrorLike {
  if (!(error instanceof Error) || error.name !== "SignerError") return false;
  const { code, transient } = error as Error & Partial<Record<"code" | "transient", unknown>>;
  return typeof code === "string" && typeof transient === "boolean";
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `a ${typeof error} that is not an Error`;
}

function started(call: () => Promise<Uint8Array>, what: string): Promise<Uint8Array> {
  let promise: Promise<Uint8Array>;
  try {
    promise = call();
  } catch (error) {
    ok(false, `${what} threw ${describe(error)} instead of returning a promise that rejects`);
  }
  ok(typeof promise?.then === "function", `${what} did not return a promise`);
  return promise;
}

/** Attempts for one of many calls. A bare signer does not retry transient failures, so the check does. */
export const ATTEMPTS: Readonly<Record<CheckContext["form"], number>> = { bare: 3, guarded: 1 };

/**
 * Makes one of many calls in a check that is about signatures. With hundreds of calls a connection may break once, and a
 * bare signer is not to blame for that.
 */
export async function oneOfMany({ form }: CheckContext, call: () => Promise<Uint8Array>): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await within(call(), CALL_BOUND_MS, "sign()");
    } catch (error) {
      if (attempt >= ATTEMPTS[form] || !isTransient(error)) throw error;
    }
  }
}

export function isTransient(error: unknown): boolean {
  return isSignerError(error) && error.transient;
}

/** Opens a signer, calls `run`, and always closes the signer. A failure to close only counts if `run` succeeded. */
export async function withSigner(
  context: CheckContext,
  run: (signer: Signer) => Promise<void>,
  policy: GuardPolicy = STEADY_POLICY,
): Promise<void> {
  const signer = await within(context.open(policy), CALL_BOUND_MS, "open()");
  try {
    await run(signer);
  } catch (error) {
    await within(signer.close(), ABORT_BOUND_MS, "close()").catch(() => undefined);
    throw error;
  }
  await within(signer.close(), CALL_BOUND_MS, "close()");
}
