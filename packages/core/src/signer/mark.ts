import { ConfigurationError, type SignerError } from "../errors.ts";
import { given } from "../given.ts";
import type { Signer } from "./contract.ts";
import type { Place } from "./places.ts";

// `Symbol.for`, so that two copies of this package agree.
const GUARD = Symbol.for("@signpost/core/guard");

/** What a guard offers to the rest of core, hidden from users. */
export interface GuardPort {
  /** Called if a signature does not verify. The guard has already counted a success. */
  signedBadly(place: Place, error: SignerError): void;
}

interface Marked {
  readonly [GUARD]?: GuardPort;
}

export function markGuarded<T extends Signer>(signer: T, port: GuardPort): T {
  Object.defineProperty(signer, GUARD, { value: port });
  return signer;
}

export function isGuarded(signer: Signer): boolean {
  return guardPort(signer) !== undefined;
}

/** Reports to a guard that its signature does not verify. The signer has already counted a success. */
export function reportBadSignature(signer: Signer, place: Place, error: SignerError): void {
  guardPort(signer)?.signedBadly(place, error);
}

export function requireBare(argument: string, signer: Signer): void {
  if (typeof signer?.sign !== "function" || typeof signer.close !== "function") {
    throw new ConfigurationError(
      argument,
      `expected a signer: an object with uri, publicKey, sign and close, got ${given(signer)}`,
    );
  }
  if (isGuarded(signer)) {
    throw new ConfigurationError(
      argument,
      "expected a bare signer (open it with `policy: false`), got one that is already guarded",
    );
  }
}

function guardPort(signer: Signer): GuardPort | undefined {
  return Object.hasOwn(signer, GUARD) ? (signer as Marked)[GUARD] : undefined;
}
