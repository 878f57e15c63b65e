import type { SignerError } from "../errors.ts";
import type { Signer } from "./contract.ts";
import type { BackendStatus } from "./health.ts";
import type { Place } from "./places.ts";

// `Symbol.for`, so that two copies of this package agree.
const INSIDE = Symbol.for("@signpost/core/inside");

/** What a bare signer of ours tells the guard around it, out of sight of its users. */
export interface Inside {
  readonly status: () => BackendStatus;
  readonly notes: () => readonly string[];
  /** Calls that never came back, and were left behind. */
  readonly leftBehind: () => number;
  /** How many calls may run past their signal before no more are sent. The largest of all that were said counts. */
  readonly allowOverdue: (count: number) => void;
  /** Told of a signature that does not verify, and where it was made. */
  readonly signedBadly?: ((place: Place, error: SignerError) => void) | undefined;
}

interface Shown {
  readonly [INSIDE]?: Inside;
}

export function showInside<Bare extends Signer>(signer: Bare, inside: Inside): Bare {
  Object.defineProperty(signer, INSIDE, { value: inside });
  return signer;
}

/** Undefined for a signer that was written by hand, also one that has a signer of ours as its prototype. */
export function insideOf(signer: Signer): Inside | undefined {
  return Object.hasOwn(signer, INSIDE) ? (signer as Shown)[INSIDE] : undefined;
}
