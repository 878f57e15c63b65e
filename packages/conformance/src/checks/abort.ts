import { equal } from "node:assert/strict";
import { getEventListeners, setMaxListeners } from "node:events";
import { setImmediate as macrotask, setTimeout as pause } from "node:timers/promises";
import type { Signer } from "@signpost/core";
import type { CheckDefinition } from "../harness.ts";
import { assertSignature, newMessage, nodeKeyOf } from "../message.ts";
import { ABORT_BOUND_MS, CALL_BOUND_MS, outcomeOf, rejectionOf, signerError, within, withSigner } from "../settle.ts";

export const REASONS: readonly unknown[] = [
  new Error("the caller went away"),
  "a reason that is not an Error",
  undefined,
];

/** When to abort, counted from the start of the call. */
const MOMENTS: readonly (readonly [name: string, wait: () => Promise<void>])[] = [
  ["in the same tick", async () => undefined],
  ["one tick later", () => macrotask()],
  ["3 ms later", () => pause(3)],
  ["20 ms later", () => pause(20)],
];

/** How many calls one round has. Every second one is aborted. */
const CALLS = 20;

/** Checks that a signer handles aborted calls correctly. */
export const abortChecks: readonly CheckDefinition[] = [
  {
    name: "a signal that is already aborted rejects with aborted, with the signal's reason as cause",
    run: (context) =>
      withSigner(context, async (signer) => {
        for (const reason of REASONS) {
          const signal = AbortSignal.abort(reason);
          const call = (): Promise<Uint8Array> => signer.sign(newMessage().digest(), { signal });
          const error = await rejectionOf(call, ["aborted"], "a call with an aborted signal", ABORT_BOUND_MS);
          equal(error.cause, signal.reason, "the cause of an aborted call is not its signal's reason");
        }
      }),
  },
  {
    name: "an abort during a call ends only that call, with aborted or with its signature",
    run: (context) =>
      withSigner(context, async (signer) => {
        for (const [name, wait] of MOMENTS) await abortEverySecond(signer, name, wait);
      }),
  },
  {
    name: "a signal that outlives its calls has none of their listeners left",
    run: (context) =>
      withSigner(context, async (signer) => {
        const { signal } = controllerForMany();
        const calls = Array.from({ length: CALLS }, () => signer.sign(newMessage().digest(), { signal }));
        await within(Promise.all(calls), CALL_BOUND_MS, "sign() with a signal that never aborts");
        equal(await listenersLeft(signal), 0, "abort listeners were left on the signal of calls that are over");
      }),
  },
];

async function abortEverySecond(signer: Signer, name: string, wait: () => Promise<void>): Promise<void> {
  const key = nodeKeyOf(signer.publicKey);
  const controller = controllerForMany();
  const reason = new Error("the caller went away");
  const calls = Array.from({ length: CALLS }, async (_, index) => {
    const message = newMessage();
    const aborts = index % 2 === 1;
    const options = aborts ? { signal: controller.signal } : {};
    const what = aborts ? `a call aborted ${name}` : `a call next to others that were aborted ${name}`;
    const outcome = await outcomeOf(() => signer.sign(message.digest(), options), CALL_BOUND_MS, what);
    if ("signature" in outcome) {
      assertSignature(key, message, outcome.signature, `the signature of ${what}`);
    } else {
      equal(aborts, true, `${what} rejected: ${String(outcome.error)}`);
      equal(
        signerError(outcome.error, ["aborted"], what).cause,
        reason,
        `the cause of ${what} is not the signal's reason`,
      );
    }
  });
  const aborted = calls.filter((_, index) => index % 2 === 1);
  const all = Promise.all(calls);
  // `all` is awaited below. Until then, its rejection must not count as unhandled.
  all.catch(() => undefined);
  await wait();
  controller.abort(reason);
  await within(Promise.all(aborted), ABORT_BOUND_MS, `calls aborted ${name}`);
  await all;
}

/** Node warns about a leak above ten listeners on one signal. Here many calls share a signal on purpose. */
function controllerForMany(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Listeners may be removed shortly after the call settled, for example when a socket closes. */
export async function listenersLeft(signal: AbortSignal): Promise<number> {
  for (let round = 0; round < 40 && getEventListeners(signal, "abort").length > 0; round += 1) await pause(50);
  return getEventListeners(signal, "abort").length;
}
