import type { AttemptController } from "./attempt-controller.ts";
import type { Signer } from "./contract.ts";
import type { BackendStatus } from "./health.ts";

// `Symbol.for`, so that two copies of this package agree.
const INSIDE = Symbol.for("@signpost/core/inside");

/** What one of our bare signers offers to its guard, hidden from users. */
export interface Inside {
  readonly status: () => BackendStatus;
  readonly notes: () => readonly string[];
  /** Number of abandoned calls that have not settled. */
  readonly leftBehind: () => number;
  /** How many calls may be unsettled after their signal before no more are sent. The largest count wins. */
  readonly allowOverdue: (count: number) => void;
  /** As `sign`, for the guard: it has checked the arguments, and ends the attempt by its controller. */
  readonly attempt?: AttemptOnce;
  /**
   * As `sign`, for `signWith`: the bytes are right and belong to the call. A signature without a place was made by this
   * signer.
   */
  readonly signOwned?: (digest: Uint8Array, signingInput: Uint8Array) => Promise<Uint8Array>;
  /** Why a guard must not hedge its calls. Undefined if it may. */
  readonly refusesHedging?: string | undefined;
}

/** Copies the bytes. Rejects with a `SignerError`. */
export type AttemptOnce = (
  digest: Uint8Array,
  signingInput: Uint8Array | undefined,
  controller: AttemptController,
) => Promise<Uint8Array>;

interface Shown {
  readonly [INSIDE]?: Inside;
}

export function showInside<Bare extends Signer>(signer: Bare, inside: Inside): Bare {
  Object.defineProperty(signer, INSIDE, { value: inside });
  return signer;
}

/** Undefined for a signer that was written by hand, even if its prototype is one of our signers. */
export function insideOf(signer: Signer): Inside | undefined {
  return Object.hasOwn(signer, INSIDE) ? (signer as Shown)[INSIDE] : undefined;
}
