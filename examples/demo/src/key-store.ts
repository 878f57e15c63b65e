import type { GuardedSigner } from "@signpost/core";

/** Where the OP's keys live. */
export interface KeyStore {
  readonly what: string;
  /** What a reader should know before the first key is made. */
  readonly introduction: readonly string[];
  /** Makes a key and opens it for signing. */
  newSigner(label: string): Promise<GuardedSigner>;
  remove(): Promise<void>;
}
