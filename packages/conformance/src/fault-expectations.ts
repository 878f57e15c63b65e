import type { SignerErrorCode } from "@signpost/core";
import type { Fault } from "./fault.ts";

/** What a signer must do while a fault is on. */
export interface FaultExpectation {
  /** `sign`: calls fail, and opening may fail. `open`: opening fails, and signers that are already open keep working. */
  readonly fails: "sign" | "open";
  /** Allowed codes of a call through `signWith`, which adds `bad_signature` if a signature does not verify. */
  readonly codes: readonly SignerErrorCode[];
  /** If set, an `integrity` error must have this `transient` flag: corruption in transit may be retried. */
  readonly integrityIsTransient?: boolean;
  /** The backend does not answer: only the signal ends a bare call, and the attempt timeout ends a guarded one. */
  readonly silent?: boolean;
  /** The signer may recover immediately, while the fault is still on. */
  readonly mayRecover?: boolean;
}

/** What each `Fault` means to a caller. Defined only here. */
export const FAULT_EXPECTATIONS: Readonly<Record<Fault, FaultExpectation>> = {
  // A connection that is never accepted may also run into the time limit.
  unreachable: { fails: "sign", codes: ["unavailable", "timeout"] },
  unavailable: { fails: "sign", codes: ["unavailable"] },
  throttle: { fails: "sign", codes: ["throttled"] },
  "backend-timeout": { fails: "sign", codes: ["timeout", "unavailable"] },
  "session-lost": { fails: "sign", codes: ["unavailable"], mayRecover: true },
  reset: { fails: "sign", codes: ["unavailable"] },
  hang: { fails: "sign", codes: ["timeout"], silent: true },
  "hang-after-headers": { fails: "sign", codes: ["timeout"], silent: true },
  slow: { fails: "sign", codes: ["timeout"], silent: true },
  truncated: { fails: "sign", codes: ["integrity", "unavailable"] },
  empty: { fails: "sign", codes: ["integrity"] },
  html: { fails: "sign", codes: ["unavailable", "integrity"] },
  // Without a checksum it is detected when the signature is decoded, range-checked or verified.
  corrupted: { fails: "sign", codes: ["integrity", "bad_signature"] },
  "corrupted-request": { fails: "sign", codes: ["integrity"], integrityIsTransient: true },
  "missing-checksum": { fails: "sign", codes: ["integrity"] },
  "wrong-key": { fails: "sign", codes: ["wrong_key"] },
  "foreign-signature": { fails: "sign", codes: ["bad_signature", "wrong_key"] },
  "bad-signature": { fails: "sign", codes: ["bad_signature"] },
  "malformed-signature": { fails: "sign", codes: ["integrity", "bad_signature"] },
  "out-of-range-signature": { fails: "sign", codes: ["bad_signature", "integrity"] },
  "access-denied": { fails: "sign", codes: ["access_denied"] },
  "expired-credentials": { fails: "sign", codes: ["access_denied"] },
  "key-not-found": { fails: "sign", codes: ["key_not_found"] },
  "key-disabled": { fails: "sign", codes: ["key_disabled"] },
  "key-destroyed": { fails: "sign", codes: ["key_disabled", "key_not_found"] },
  "unsupported-key": { fails: "open", codes: ["unsupported_key"] },
  "ambiguous-key": { fails: "open", codes: ["ambiguous_key"] },
  // An adapter waits for the key as long as its deadline allows.
  "key-pending": { fails: "open", codes: ["key_disabled", "unavailable", "timeout"] },
  "pin-incorrect": { fails: "open", codes: ["pin_incorrect"] },
  "pin-locked": { fails: "open", codes: ["pin_locked"] },
};

/** Opening reads the key and not a signature, so a damaged answer can lead to more codes. */
export const OPENING_CODES: readonly SignerErrorCode[] = ["integrity", "unsupported_key", "unavailable", "timeout"];
