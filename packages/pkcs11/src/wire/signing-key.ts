import type { P256PublicJwk, SignerError, SignerHealth } from "@signpost/core";
import type { TokenDescription } from "../cryptoki/descriptions.ts";

/** What is known of a key once it is open. It never changes. */
export interface SigningKeyDescription {
  readonly publicKey: P256PublicJwk;
  readonly token: TokenDescription;
  /** CKA_LABEL, which need not be UTF-8. */
  readonly label: Uint8Array;
  readonly id: Uint8Array;
  /** Signatures at once. */
  readonly sessions: number;
}

/** A signature, and the session that made it. */
export interface MadeSignature {
  readonly signature: Uint8Array;
  /** The same object as long as it is the same session: one that was opened again is another one. */
  readonly session: object;
}

/** A key that is open: found, checked and proven. The same for both isolations. */
export interface SigningKey extends SigningKeyDescription {
  /** One attempt. */
  sign(digest: Uint8Array, signal: AbortSignal | undefined): Promise<MadeSignature>;
  status(): SignerHealth["status"];
  notes(): readonly string[];
  /** Calls that hang inside the module. */
  hanging(): number;
  /** What the token answered to a PIN, once it has refused one: no other is tried. */
  refusal(): SignerError | undefined;
  close(): Promise<void>;
}
