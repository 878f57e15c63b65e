import type { GuardedSigner, Signer, SignerHealth } from "@signpost/core";

/** Recognized by its members, as an adapter's users see them. */
export function isGuardedSigner(signer: Signer): signer is GuardedSigner {
  return "health" in signer && typeof signer.health === "function" && Symbol.asyncDispose in signer;
}

/** Undefined for a bare signer. */
export function healthOf(signer: Signer): SignerHealth | undefined {
  return isGuardedSigner(signer) ? signer.health() : undefined;
}
