import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { vi } from "vitest";
import { guardSigner, type GuardedSigner, type GuardPolicy, SIGN_CHANNEL, type SignEvent } from "@signpost/core";
import { type BackendCall, type Behaviour, type ScriptedSigner, scriptedSigner, signs } from "./scripted-signer.ts";

export const INPUT: Buffer = Buffer.from("signing input");
export const DIGEST: Buffer = createHash("sha256").update(INPUT).digest();
/** After this many calls, one may be hedged. */
export const CALLS_PER_HEDGE = 20;
/** Hedges start after 100 ms: a mocked `setImmediate` comes a millisecond later. */
export const HEDGE_AFTER_MS = 99;

/** Signs after `ms`, or rejects when its signal aborts, as the contract of adapters says. */
export const signsIn =
  (ms: number): Behaviour =>
  (call) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(call.sign()), ms);
      const end = (): void => {
        clearTimeout(timer);
        reject(call.signal.reason);
      };
      call.signal.addEventListener("abort", end, { once: true });
    });

export interface HedgedGuard extends ScriptedSigner {
  readonly guard: GuardedSigner;
  /** The calls of the backend after those that saved up hedges. */
  readonly later: () => readonly BackendCall[];
}

/** A guard that has saved up this many hedges, by calls that were answered at once. Then its backend behaves as given. */
export async function hedged(
  { saved = 1, ...policy }: GuardPolicy & { readonly saved?: number },
  ...behaviours: Behaviour[]
): Promise<HedgedGuard> {
  const before = saved * CALLS_PER_HEDGE;
  const scripted = scriptedSigner(...Array.from({ length: before }, () => signs), ...behaviours);
  const guard = guardSigner(scripted.signer, { hedgeAfterMs: HEDGE_AFTER_MS, ...policy });
  await save(guard, saved);
  return { ...scripted, guard, later: () => scripted.calls.slice(before) };
}

/** Makes as many calls as it takes to save up this many hedges. */
export async function save(guard: GuardedSigner, hedges: number): Promise<void> {
  for (let made = 0; made < hedges * CALLS_PER_HEDGE; made += 1) await guard.sign(DIGEST);
}

export const passes = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** The events that are published until the function ends. */
export async function eventsOf(work: () => Promise<unknown>): Promise<SignEvent[]> {
  const events: SignEvent[] = [];
  const listener = (message: unknown): void => void events.push(message as SignEvent);
  subscribe(SIGN_CHANNEL, listener);
  try {
    await work();
  } finally {
    unsubscribe(SIGN_CHANNEL, listener);
  }
  return events;
}
