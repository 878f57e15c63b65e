import type { GuardPolicy, Signer } from "@signpost/core";
import type { Fault } from "./fault.ts";

/** How one signer is opened: what `openWith` gets. */
export interface OpeningLimits {
  /** `false` for a bare signer. Otherwise the guard's policy. */
  readonly policy: GuardPolicy | false;
  /** Ends the opening when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit for opening. Milliseconds. */
  readonly openDeadlineMs?: number | undefined;
}

/** What the checks need from an adapter and its backend. A plain object with any other member is refused. */
export interface SignerHarness {
  /**
   * Opens a signer, always on the same key: bare for `false`, otherwise guarded. Each call opens another signer, and the
   * checks close it. Required.
   */
  open(policy?: GuardPolicy | false): Promise<Signer>;
  /**
   * Opens a signer as `open` does, with a signal or a time limit. Give it if opening waits for a backend. Default: opening
   * with a signal or a time limit is not checked.
   */
  readonly openWith?: ((limits: OpeningLimits) => Promise<Signer>) | undefined;
  /**
   * Texts that must never be shown: PIN, credentials, private key. Each must have at least 6 characters, so that it does
   * not match by chance. The list may be empty if the backend has no secrets. The checks always search for digests too.
   * Required.
   */
  readonly secrets: readonly string[];
  /**
   * Functions that make the backend fail. Each switches its fault on or off, and resolves when that is done. There are
   * checks for each fault and form. Open signers must stay open. Default: no faults are checked.
   */
  readonly faults?: Partial<Record<Fault, (on: boolean) => Promise<void>>> | undefined;
  /**
   * How long after the end of a fault signing and opening may still fail with a transient error, and health may still not be
   * ready. Increase it for a backend that delays its recovery on purpose, such as a failover, which returns to its first signer
   * after 30 seconds. Whole milliseconds, 0 to 600,000. Default 5000.
   */
  readonly recoveryMs?: number | undefined;
}

/** One check: `run` rejects with an `AssertionError` that says what the signer did wrong. */
export interface SignerCheck {
  /** `bare: …` or `guarded: …`, followed by what is checked. Names are unique. */
  readonly name: string;
  /** Runs the check. Give it a timeout of one minute. */
  readonly run: () => Promise<void>;
}

/** The two forms of signer that an adapter can open. */
export type SignerForm = "bare" | "guarded";

/** The harness as one check sees it. The form is fixed, and only guarded signers get the policy. */
export interface CheckContext {
  readonly form: SignerForm;
  readonly secrets: readonly string[];
  open(policy: GuardPolicy): Promise<Signer>;
  /** Undefined if the harness does not have it. */
  readonly openWith?: (limits: OpeningLimits & { readonly policy: GuardPolicy }) => Promise<Signer>;
}

/** A check before it is bound to a harness and a form. */
export interface CheckDefinition {
  readonly name: string;
  readonly run: (context: CheckContext) => Promise<void>;
}

/** For all checks that are not about time. Generous, so that a busy machine does not change the result. */
export const STEADY_POLICY: GuardPolicy = { deadlineMs: 30_000, attemptTimeoutMs: 15_000 };
