import type { GuardedSigner, Signer, SignerHealth } from "@signpost/core";

/** By its members, as an adapter's users see it. */
export function isGuardedSigner(signer: Signer): signer is GuardedSigner {
  return "health" in signer && typeof signer.health === "function" && Symbol.asyncDispose in signer;
}

/** None for a bare signer. */
export function healthOf(signer: Signer): SignerHealth | undefined {
  return isGuardedSigner(signer) ? signer.health() : undefined;
}
