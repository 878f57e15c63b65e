import { ok } from "node:assert/strict";
import { setImmediate as macrotask, setTimeout as pause } from "node:timers/promises";
import type { Signer } from "@signpost/core";
import type { CheckContext, CheckDefinition } from "../harness.ts";
import { assertSignature, newMessage, nodeKeyOf } from "../message.ts";
import { ATTEMPTS, isTransient, outcomeOf, rejectionOf, signerError, within, withSigner } from "../settle.ts";

/** Calls in flight when the signer is closed: more than any default of slots. */
const CALLS = 50;
const CLOSE_POLICY = { deadlineMs: 3_000, attemptTimeoutMs: 2_000 };
/** Started calls finish within their deadline. The rest is for busy machines. Milliseconds. */
const CLOSE_BOUND_MS = 5_000;
const IN_FLIGHT = "a call in flight at close()";

const MOMENTS: readonly (readonly [name: string, wait: () => Promise<void>])[] = [
  ["in the same tick as the calls", async () => undefined],
  ["one tick after the calls", () => macrotask()],
  ["5 ms after the calls", () => pause(5)],
];

/** Checks that a signer closes correctly. */
export const closeChecks: readonly CheckDefinition[] = [
  {
    name: "close can be called again, immediately and later",
    run: (context) =>
      withSigner(context, async (signer) => {
        await within(signer.sign(newMessage().digest()), CLOSE_BOUND_MS, "sign()");
        await within(Promise.all([signer.close(), signer.close()]), CLOSE_BOUND_MS, "two concurrent calls of close()");
        await within(signer.close(), CLOSE_BOUND_MS, "close() of a closed signer");
      }),
  },
  ...MOMENTS.map(([name, wait]): CheckDefinition => ({
    name: `closed ${name}, a started call ends with its signature, a queued one with that or with closed`,
    run: (context) => closedWithCallsInFlight(context, wait),
  })),
  {
    name: "a call after close rejects with closed",
    run: (context) =>
      withSigner(context, async (signer) => {
        await within(signer.sign(newMessage().digest()), CLOSE_BOUND_MS, "sign()");
        const closing = signer.close();
        const whileClosing = (): Promise<Uint8Array> => signer.sign(newMessage().digest());
        await rejectionOf(whileClosing, ["closed"], "sign() after close() was called", CLOSE_BOUND_MS);
        await within(closing, CLOSE_BOUND_MS, "close()");
        await rejectionOf(whileClosing, ["closed"], "sign() after close() resolved", CLOSE_BOUND_MS);
      }),
  },
];

/** Repeats the check if the backend failed: with many calls a connection may break once. */
async function closedWithCallsInFlight(context: CheckContext, wait: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    let failure: unknown;
    const close = async (signer: Signer): Promise<void> => {
      failure = await closeWithCallsInFlight(signer, wait);
    };
    await withSigner(context, close, CLOSE_POLICY);
    if (failure === undefined) return;
    if (attempt >= ATTEMPTS[context.form]) signerError(failure, ["closed"], IN_FLIGHT);
  }
}

/** Returns the transient failure of a call, if there was one. Throws for anything else that is wrong. */
async function closeWithCallsInFlight(signer: Signer, wait: () => Promise<void>): Promise<unknown> {
  const key = nodeKeyOf(signer.publicKey);
  let failure: unknown;
  const calls = Array.from({ length: CALLS }, async (_, index) => {
    const message = newMessage();
    const outcome = await outcomeOf(() => signer.sign(message.digest()), CLOSE_BOUND_MS, IN_FLIGHT);
    if ("signature" in outcome)
      return assertSignature(key, message, outcome.signature, `the signature of ${IN_FLIGHT}`);
    if (isTransient(outcome.error)) failure ??= outcome.error;
    else signerError(outcome.error, ["closed"], IN_FLIGHT);
    // Every signer can run at least one call, so the first call is started.
    ok(index > 0 || failure !== undefined, "the first call had started before close(), and was not finished");
  });
  const all = Promise.all(calls);
  // `all` is awaited below. Until then, its rejection must not count as unhandled.
  all.catch(() => undefined);
  await wait();
  await within(signer.close(), CLOSE_BOUND_MS, "close() with calls in flight");
  await all;
  return failure;
}
