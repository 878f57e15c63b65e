import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Absence } from "./backend-tokens.ts";
import { RECOVERY_MS, type ShimmedBackend } from "./shimmed-backend.ts";
import { outcome, until } from "./signing.ts";

const IN_FLIGHT = 64;
/** Callers try again so long after a failure. Milliseconds. */
const AGAIN_MS = 100;
/** Fresh starts of ours are at least so far apart. Milliseconds. */
const REINITIALIZE_INTERVAL_MS = 30_000;

export interface SoakPlan {
  readonly signatures: number;
  /** How the token goes away and comes back. */
  readonly absence: string;
  /** How often other code closes all sessions before that. */
  readonly closings: number;
  /** And whether it does so once more when the token is back. */
  readonly closingAfter: boolean;
}

/** Many signatures at 64 in flight while everything is done to the token and the module that other code or an operator can do. */
export function soakTest(at: ShimmedBackend, { signatures, absence: what, closings, closingAfter }: SoakPlan): void {
  test(`${signatures} signatures at 64 in flight are made while sessions are closed, everybody is logged out, the module is finalized and ${what}`, async () => {
    const signer = await at.openWhole();
    const began = performance.now();
    const absence = at.backend.absences.find((other) => other.what === what) as Absence;
    const counts = new Map<string, number>();
    let signed = 0;
    let lastSigned = 0;
    const faultsOver = new AbortController();

    const caller = async (): Promise<void> => {
      while (signed < signatures || !faultsOver.signal.aborted) {
        const code = await outcome(signer);
        counts.set(code, (counts.get(code) ?? 0) + 1);
        if (code === "signed") {
          signed += 1;
          lastSigned = performance.now();
        } else {
          await pause(AGAIN_MS);
        }
      }
    };
    const callers = Array.from({ length: IN_FLIGHT }, caller);
    const share = async (part: number): Promise<void> => until(() => signed >= signatures * part, 2 * RECOVERY_MS);
    const signedAgain = async (): Promise<void> => {
      const faultEnded = performance.now();
      await until(() => lastSigned > faultEnded, RECOVERY_MS);
    };

    for (let round = 1; round <= closings; round += 1) {
      await share(0.02 * round);
      at.otherCode.closeAllSessions();
      await signedAgain();
    }
    await share(0.15);
    at.otherCode.logOut();
    await signedAgain();
    await share(0.2);
    at.otherCode.finalize();
    await signedAgain();

    await share(0.3);
    await absence.away(at.shim);
    await until(() => signer.health().status !== "ready", RECOVERY_MS);
    await pause(1_000);
    await absence.back(at.shim);
    await signedAgain();
    // The fresh start that found the token again was the last; from here on the next one would be 30 seconds away.
    if (closingAfter) {
      at.otherCode.closeAllSessions();
      await signedAgain();
    }
    faultsOver.abort();
    await Promise.all(callers);

    expect(counts.get("signed")).toBeGreaterThanOrEqual(signatures);
    expect([...counts.keys()].filter((code) => !["signed", "unavailable", "timeout"].includes(code))).toEqual([]);
    await until(() => signer.health().status === "ready", RECOVERY_MS);
    await until(() => at.shim.counter("openSessions") === at.backend.sessions, RECOVERY_MS);
    // What was called in other instances was called by us alone; in one that is shared, by other code too.
    const others = at.backend.instances
      ? { logOut: 0, close: 0 }
      : { logOut: 1, close: closings + (closingAfter ? 1 : 0) };
    expect(at.shim.calls("C_Logout")).toBe(others.logOut);
    expect(at.shim.calls("C_CloseAllSessions")).toBe(others.close);
    const freshStarts = 1 + Math.ceil((performance.now() - began) / REINITIALIZE_INTERVAL_MS);
    if (!at.backend.instances) expect(at.shim.calls("C_Finalize")).toBeLessThanOrEqual(1 + freshStarts);
  }, 400_000);
}
