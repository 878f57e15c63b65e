import type { GuardedSigner } from "@signpost/core";

/** The place of the OP's keys. */
export interface KeyStore {
  readonly place: string;
  /** Makes a key and opens it for signing. */
  newSigner(label: string): Promise<GuardedSigner>;
  remove(): Promise<void>;
}
