import type { P256PublicJwk, SignerError, SignerHealth, SignOptions } from "@signpost/core";
import type { TokenDescription } from "../cryptoki/descriptions.ts";

/** The fixed facts about a key, known once it is open. */
export interface SigningKeyDescription {
  readonly publicKey: P256PublicJwk;
  readonly token: TokenDescription;
  /** CKA_LABEL, which need not be UTF-8. */
  readonly label: Uint8Array;
  readonly id: Uint8Array;
  /** Concurrent signatures. */
  readonly sessions: number;
}

/** A signature, and the session that made it. */
export interface MadeSignature {
  readonly signature: Uint8Array;
  /** The same object for the same session. A reopened session gets a new one. */
  readonly session: object;
}

/** A key that is open: found, checked and proven. The same for both isolations. */
export interface SigningKey extends SigningKeyDescription {
  /** Makes one attempt. */
  sign(digest: Uint8Array, call: SignOptions): Promise<MadeSignature>;
  status(): SignerHealth["status"];
  notes(): readonly string[];
  /** Calls that are hanging inside the module. */
  hanging(): number;
  /** The token's refusal of a PIN. After it, no other PIN is tried. */
  refusal(): SignerError | undefined;
  close(): Promise<void>;
}
