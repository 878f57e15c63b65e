import { equal, fail, ok } from "node:assert/strict";
import type { Signer, SignerErrorCode } from "@signpost/core";
import { OPENING_CODES } from "../fault-expectations.ts";
import type { Fault } from "../fault.ts";
import { type CheckContext, type CheckDefinition, type OpeningLimits, STEADY_POLICY } from "../harness.ts";
import { newMessage } from "../message.ts";
import { ABORT_BOUND_MS, CALL_BOUND_MS, signerError, type SignerErrorLike, within } from "../settle.ts";
import { listenersLeft, REASONS } from "./abort.ts";
import { BEYOND_DEADLINE_MS, recovers, type SwitchableFault, whileOn } from "./faults.ts";

/** How long opening may take while a backend is silent. Milliseconds. */
const OPEN_DEADLINE_MS = 500;

/** The answer of a slow backend may come within the time that a busy machine gets. */
const UNANSWERED: ReadonlySet<Fault> = new Set(["hang", "hang-after-headers"]);

/** Checks that opening obeys its signal and its time limit. */
export const openingChecks: readonly CheckDefinition[] = [
  {
    name: "opening with a signal that is already aborted rejects with aborted, with the signal's reason as cause",
    run: async (context) => {
      for (const reason of REASONS) {
        const signal = AbortSignal.abort(reason);
        const what = "opening with an aborted signal";
        const error = await openingError(await outcomeOf(context, { signal }, ABORT_BOUND_MS, what), ["aborted"], what);
        equal(error.cause, signal.reason, "the cause of an aborted opening is not its signal's reason");
      }
    },
  },
  {
    name: "a signal that outlives the opening has none of its listeners left, and no longer ends anything",
    run: async (context) => {
      const controller = new AbortController();
      const { signal } = controller;
      const outcome = await outcomeOf(context, { signal }, CALL_BOUND_MS, "opening with a signal");
      if ("error" in outcome) throw outcome.error;
      try {
        equal(await listenersLeft(signal), 0, "abort listeners were left on the signal of an opening that is over");
        controller.abort(new Error("the opening is over"));
        const signature = await within(outcome.signer.sign(newMessage().digest()), CALL_BOUND_MS, "sign()");
        equal(signature.length, 64, "a signer does not sign after the signal of its opening aborted");
      } finally {
        await within(outcome.signer.close(), CALL_BOUND_MS, "close()");
      }
    },
  },
];

/** The check of opening while a backend is silent. */
export function openingFaultChecks(switchable: SwitchableFault): readonly CheckDefinition[] {
  const { fault, recoveryMs } = switchable;
  if (!UNANSWERED.has(fault)) return [];
  return [
    {
      name: `opening while ${fault} ends at its deadline, and leaves no listener`,
      run: async (context) => {
        const { signal } = new AbortController();
        const what = `opening while ${fault} with a deadline of ${OPEN_DEADLINE_MS} ms`;
        const limits = { signal, openDeadlineMs: OPEN_DEADLINE_MS };
        const boundMs = OPEN_DEADLINE_MS + BEYOND_DEADLINE_MS;
        const outcome = await whileOn(switchable, () => outcomeOf(context, limits, boundMs, what));
        // An adapter may have a signer without a call that is silent.
        if ("signer" in outcome) await within(outcome.signer.close(), CALL_BOUND_MS, "close()");
        else signerError(outcome.error, OPENING_CODES, what);
        equal(await listenersLeft(signal), 0, `abort listeners were left after ${what}`);
        const again = await recovers(() => context.open(STEADY_POLICY), recoveryMs);
        await within(again.close(), CALL_BOUND_MS, "close()");
      },
    },
  ];
}

type Opened = { readonly signer: Signer } | { readonly error: unknown };

async function outcomeOf(
  { openWith }: CheckContext,
  limits: Omit<OpeningLimits, "policy">,
  boundMs: number,
  what: string,
): Promise<Opened> {
  ok(openWith !== undefined, "the harness has no openWith");
  const opening = openWith({ ...limits, policy: STEADY_POLICY }).then(
    (signer): Opened => ({ signer }),
    (error: unknown): Opened => ({ error }),
  );
  return within(opening, boundMs, what);
}

async function openingError(
  outcome: Opened,
  codes: readonly SignerErrorCode[],
  what: string,
): Promise<SignerErrorLike> {
  if ("error" in outcome) return signerError(outcome.error, codes, what);
  await within(outcome.signer.close(), CALL_BOUND_MS, "close()");
  fail(`${what} gave a signer, expected a rejection with ${codes.join(" or ")}`);
}
