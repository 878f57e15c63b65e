import type { Signer } from "./contract.ts";
import type { SignerStatus } from "./health.ts";

// `Symbol.for`, so that two copies of this package agree.
const INSIDE = Symbol.for("@signpost/core/inside");

/** What a bare signer of ours tells the guard around it, out of sight of its users. */
export interface Inside {
  readonly status: () => SignerStatus;
  readonly notes: () => readonly string[];
  /** Calls that never came back, and were left behind. */
  readonly leftBehind: () => number;
  /** How many calls may be left behind before no more are sent. The largest of all that were said counts. */
  readonly allowLeftBehind: (count: number) => void;
}

interface Shown {
  readonly [INSIDE]?: Inside;
}

export function showInside<Bare extends Signer>(signer: Bare, inside: Inside): Bare {
  Object.defineProperty(signer, INSIDE, { value: inside });
  return signer;
}

/** Undefined for a signer that was written by hand. */
export function insideOf(signer: Signer): Inside | undefined {
  return (signer as Shown)[INSIDE];
}
