import type { GuardPolicy, Signer } from "@signpost/core";
import type { Fault } from "./fault.ts";

/** What the checks need from an adapter and its backend. A plain object is refused when it has any other member. */
export interface SignerHarness {
  /**
   * Opens a signer on one and the same key each time: guarded when a policy is given or absent, bare with
   * `false`. Each call makes another signer, which the checks close. Required.
   */
  open(policy?: GuardPolicy | false): Promise<Signer>;
  /**
   * What must never be shown: PIN, credentials, private key. Each at least 6 characters, so that none is
   * found by chance. May be empty where a backend has none; digests are looked for in any case. Required.
   */
  readonly secrets: readonly string[];
  /**
   * How to make the backend fail: switches the fault on or off and resolves when that holds. One check per
   * fault and form is made of each. Signers that are open stay open meanwhile. Default: no fault is checked.
   */
  readonly faults?: Partial<Record<Fault, (on: boolean) => Promise<void>>> | undefined;
  /**
   * How long after a fault ended signatures and openings may still fail with a transient error. Whole milliseconds, 0 to
   * 600,000. Default 5000. For backends whose recovery is held back on purpose.
   */
  readonly recoveryMs?: number | undefined;
}

/** One check: `run` rejects with an `AssertionError` that says what the signer did wrong. */
export interface SignerCheck {
  /** `bare: …` or `guarded: …`, and what the check is about. Each name once. */
  readonly name: string;
  /** Runs the check. Give it a minute. */
  readonly run: () => Promise<void>;
}

/** The two forms in which an adapter hands out signers. */
export type SignerForm = "bare" | "guarded";

/** What one check sees of the harness: the form is decided, the policy only reaches guarded signers. */
export interface CheckContext {
  readonly form: SignerForm;
  readonly secrets: readonly string[];
  open(policy: GuardPolicy): Promise<Signer>;
}

/** A check before it is bound to a harness and a form. */
export interface CheckDefinition {
  readonly name: string;
  readonly run: (context: CheckContext) => Promise<void>;
}

/** For every check that is not about time: generous, so that a busy machine changes no result. */
export const STEADY_POLICY: GuardPolicy = { deadlineMs: 30_000, attemptTimeoutMs: 15_000 };
