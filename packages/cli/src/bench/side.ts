import type { AdapterOptions } from "../keys/adapters.ts";
import type { CliContext } from "../program/context.ts";

/** One of the two that are measured: Signpost, or the bare call of the backend. */
export interface Side {
  /** For people: `signpost`, `bare SDK`. */
  readonly name: string;
  /** Makes one signature. Rejects if there is none. */
  sign(): Promise<void>;
  /** What kind of failure an error is. Never its message, which may quote anything. */
  codeOf(error: unknown): string;
  close(): Promise<void>;
}

/** What a bare call needs to know. */
export interface RawOrder {
  /** The URI as it was given. */
  readonly uri: string;
  /** The URI of the opened key, which names its version. */
  readonly keyUri: string;
  /** Options of the adapter, with secrets as functions. */
  readonly options: AdapterOptions;
  readonly context: CliContext;
  /** Most calls at once. */
  readonly concurrency: number;
  /** The PIN, if the URI or a person gives one. PKCS#11 only. */
  readonly pin: () => Promise<string | undefined>;
}

/** Opens the bare call of one kind of backend. */
export type OpenRaw = (order: RawOrder) => Promise<Side>;
