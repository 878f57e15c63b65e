import type { GuardedSigner } from "@signpost/core";

/** Where the OP's keys live. */
export interface KeyStore {
  readonly place: string;
  /** Makes a key and opens it for signing. */
  newSigner(label: string): Promise<GuardedSigner>;
  remove(): Promise<void>;
}
