import { equal, notEqual, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createKeySet, signWith } from "@signpost/core";
import type { GuardPolicy, Signer } from "@signpost/core";
import type { Fault } from "../fault.ts";
import { FAULT_EXPECTATIONS, OPENING_CODES } from "../fault-expectations.ts";
import type { FaultExpectation } from "../fault-expectations.ts";
import { healthOf } from "../forms.ts";
import type { CheckContext, CheckDefinition } from "../harness.ts";
import { assertSignature, newMessage, nodeKeyOf } from "../message.ts";
import { assertErrorKeepsSecrets } from "../secrets.ts";
import { ABORT_BOUND_MS, CALL_BOUND_MS, isTransient, outcomeOf, signerError, within, withSigner } from "../settle.ts";
import type { Outcome } from "../settle.ts";

/** Short, because each check of a silent backend takes this much time: two attempts. */
const SILENT_POLICY = { deadlineMs: 2_000, attemptTimeoutMs: 600, maxAttempts: 2 } satisfies GuardPolicy;
/** Long, because a backend that answers does not use it up, and a busy machine must not change the result. */
const SPEAKING_POLICY = { deadlineMs: 15_000, attemptTimeoutMs: 5_000, maxAttempts: 2 } satisfies GuardPolicy;
/** A call ends at its deadline. The rest is for busy machines. Milliseconds. */
export const BEYOND_DEADLINE_MS = 1_500;
/** Time limit for opening, longer than the default connection timeouts of all clients. Milliseconds. */
const OPENING_BOUND_MS = 15_000;
const CALLERS = 8;
const PAUSE_MS = 50;

/** A fault that a harness can switch. */
export interface SwitchableFault {
  readonly fault: Fault;
  readonly toggle: (on: boolean) => Promise<void>;
  readonly recoveryMs: number;
}

interface FaultCase extends SwitchableFault {
  readonly expected: FaultExpectation;
}

/** The checks of one fault. */
export function faultChecks(switchable: SwitchableFault): readonly CheckDefinition[] {
  const { fault } = switchable;
  const expected = FAULT_EXPECTATIONS[fault];
  const faultCase = { ...switchable, expected };
  if (expected.fails === "open") {
    return [
      {
        name: `opening while ${fault} rejects with ${expected.codes.join(" or ")}, and works after it`,
        run: (context) => openingFails(context, faultCase),
      },
    ];
  }
  return [
    {
      name: `signing while ${fault} rejects with ${expected.codes.join(" or ")} in time, and works after it`,
      run: (context) => signingFails(context, faultCase),
    },
    {
      name: `opening while ${fault} works or rejects with a SignerError, in bounded time`,
      run: (context) => openingSettles(context, faultCase),
    },
  ];
}

async function signingFails(context: CheckContext, faultCase: FaultCase): Promise<void> {
  const { fault, expected, recoveryMs } = faultCase;
  // The fault of the previous check may still have an effect, since clients wait before they reconnect.
  const open: CheckContext["open"] = (policy) => recovers(() => context.open(policy), recoveryMs);
  await withSigner(
    { ...context, open },
    async (signer) => {
      await recovers(() => assertSigns(signer, `before ${fault}`), recoveryMs);
      const calls = await whileOn(faultCase, () =>
        Promise.all(Array.from({ length: CALLERS }, () => callDuring(context, signer, faultCase))),
      );
      for (const call of calls) assertFailed(context, call, faultCase);
      if (expected.mayRecover !== true) {
        notEqual(healthOf(signer)?.status, "ready", `health() is ready right after calls failed by ${fault}`);
      }
      const signsAgain = (): Promise<void> => recovers(() => assertSigns(signer, `after ${fault}`), recoveryMs);
      await signsAgain();
      await Promise.all(Array.from({ length: CALLERS }, signsAgain));
      await becomesReady(signer, signsAgain, recoveryMs);
      equal(statusOf(signer), "ready", `health() after ${fault} is over and signatures were made`);
    },
    policyFor(expected),
  );
}

interface FaultyCall {
  readonly outcome: Outcome;
  readonly digest: Uint8Array;
}

async function callDuring(context: CheckContext, signer: Signer, { fault, expected }: FaultCase): Promise<FaultyCall> {
  const message = newMessage();
  const what = `a call while ${fault}`;
  if (context.form === "guarded") {
    const boundMs = policyFor(expected).deadlineMs + BEYOND_DEADLINE_MS;
    const outcome = await outcomeOf(() => signThrough(signer, message.signingInput), boundMs, what);
    return { outcome, digest: message.digest() };
  }
  // A bare signer has no timeout. Only the caller's signal ends a call to a silent backend.
  const abortMs = policyFor(expected).attemptTimeoutMs;
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error("the caller's time is up")), abortMs);
  const call = (): Promise<Uint8Array> => signThrough(signer, message.signingInput, controller.signal);
  const outcome = await outcomeOf(call, abortMs + ABORT_BOUND_MS, what).finally(() => clearTimeout(timer));
  return { outcome, digest: message.digest() };
}

function assertFailed(context: CheckContext, { outcome, digest }: FaultyCall, { fault, expected }: FaultCase): void {
  const what = `a call while ${fault}`;
  // `signWith` has verified the signature.
  if ("signature" in outcome)
    return ok(expected.mayRecover, `${what} gave a signature, expected ${expected.codes.join(" or ")}`);
  const codes =
    context.form === "bare" && expected.silent === true ? (["aborted", ...expected.codes] as const) : expected.codes;
  const error = signerError(outcome.error, codes, what);
  if (error.code === "integrity" && expected.integrityIsTransient !== undefined) {
    equal(error.transient, expected.integrityIsTransient, `${what}: the transient flag of its integrity error`);
  }
  assertErrorKeepsSecrets(error, context.secrets, digest, `the error of ${what}`);
}

async function openingSettles(context: CheckContext, faultCase: FaultCase): Promise<void> {
  const { fault, expected } = faultCase;
  const opened = await whileOn(faultCase, () => openOutcome(context, faultCase));
  if ("signer" in opened) return within(opened.signer.close(), CALL_BOUND_MS, "close()");
  const error = signerError(opened.error, [...expected.codes, ...OPENING_CODES], `opening while ${fault}`);
  assertErrorKeepsSecrets(error, context.secrets, newMessage().digest(), `the error of opening while ${fault}`);
}

async function openingFails(context: CheckContext, faultCase: FaultCase): Promise<void> {
  const { fault, expected, recoveryMs } = faultCase;
  const opened = await whileOn(faultCase, () => openOutcome(context, faultCase));
  if ("signer" in opened) {
    await within(opened.signer.close(), CALL_BOUND_MS, "close()");
    ok(false, `opening while ${fault} gave a signer, expected ${expected.codes.join(" or ")}`);
  }
  const error = signerError(opened.error, expected.codes, `opening while ${fault}`);
  assertErrorKeepsSecrets(error, context.secrets, newMessage().digest(), `the error of opening while ${fault}`);
  await recovers(() => withSigner(context, (signer) => assertSigns(signer, `after ${fault}`)), recoveryMs);
}

async function openOutcome(
  context: CheckContext,
  { fault, expected }: FaultCase,
): Promise<{ signer: Signer } | { error: unknown }> {
  const opening = context.open(policyFor(expected)).then(
    (signer) => ({ signer }),
    (error: unknown) => ({ error }),
  );
  return within(opening, OPENING_BOUND_MS, `opening while ${fault}`);
}

function policyFor({ silent }: FaultExpectation): typeof SILENT_POLICY {
  return silent === true ? SILENT_POLICY : SPEAKING_POLICY;
}

/** Always switches the fault off again. */
export async function whileOn<T>({ toggle }: SwitchableFault, run: () => Promise<T>): Promise<T> {
  await toggle(true);
  try {
    return await run();
  } finally {
    await toggle(false);
  }
}

/** Retries until it works. All failures until then must be transient. */
export async function recovers<Result>(attempt: () => Promise<Result>, recoveryMs: number): Promise<Result> {
  const until = performance.now() + recoveryMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() >= until || !isTransient(error)) throw error;
    }
    await pause(PAUSE_MS);
  }
}

/** Waits as long as the signer is not ready. A signature before each look: with one, a failover returns to its first signer. */
export async function becomesReady(signer: Signer, sign: () => Promise<void>, recoveryMs: number): Promise<void> {
  const until = performance.now() + recoveryMs;
  while (statusOf(signer) !== "ready" && performance.now() < until) {
    await pause(PAUSE_MS);
    await sign();
  }
}

function statusOf(signer: Signer): string {
  return healthOf(signer)?.status ?? "ready";
}

async function assertSigns(signer: Signer, when: string): Promise<void> {
  const message = newMessage();
  const signature = await within(signThrough(signer, message.signingInput), CALL_BOUND_MS, `sign() ${when}`);
  assertSignature(nodeKeyOf(signer.publicKey), message, signature, `the signature ${when}`);
}

/** Signs the way users of the library do: a signature that does not verify is an error, never a result. */
function signThrough(signer: Signer, signingInput: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
  if (signal === undefined) return signWith(createKeySet([{ signer }]).active, signingInput);
  // Only the signer gets the signal: `signWith` would reject by itself, no matter what the signer does.
  const judged: Signer = {
    uri: signer.uri,
    publicKey: signer.publicKey,
    sign: (digest, options) => signer.sign(digest, { ...options, signal }),
    close: () => signer.close(),
  };
  return signWith(createKeySet([{ signer: judged }]).active, signingInput);
}
