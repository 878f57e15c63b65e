import type { GuardedSigner } from "@signpost/core";
import type { AdapterOptions } from "../keys/adapters.ts";
import type { CliContext } from "../program/context.ts";
import type { Finding } from "./finding.ts";

/** A key to examine. */
export interface Subject {
  /** The URI as it was given. It may name where a secret is, so it is never printed. */
  readonly uri: string;
  /** Options of the adapter, with secrets as functions. */
  readonly options: AdapterOptions;
  readonly context: CliContext;
  /** The PIN, if the URI or a person gives one. PKCS#11 only. */
  readonly pin: () => Promise<string | undefined>;
}

/** What one kind of backend can tell of a key, beyond signing with it. */
export interface BackendChecks {
  /** Before the key is opened: what must not be tried. A problem means that the key is not opened. */
  readonly before?: (subject: Subject) => Promise<readonly Finding[]>;
  /** With the opened key. */
  readonly examine: (subject: Subject, key: GuardedSigner) => Promise<readonly Finding[]>;
  /** A URL of the backend whose answers have a Date header. */
  readonly clockUrl?: (subject: Subject, key: GuardedSigner) => string | undefined;
}
