import type { KeyObject } from "node:crypto";
import type { GuardedSigner, GuardPolicy, KeySet, SignerErrorCode } from "@signpost/core";
import type { Effect, Kind } from "./kinds.ts";

/**
 * The limits of every signer of a campaign: shorter than the defaults, so that a fault costs less time, and long enough for a busy
 * machine.
 */
export const POLICY: { readonly deadlineMs: number } & GuardPolicy = {
  deadlineMs: 4_000,
  attemptTimeoutMs: 1_000,
  maxAttempts: 3,
};

/** How long opening may take. Milliseconds. */
export const OPEN_DEADLINE_MS = 20_000;

/** A key in a backend. */
export interface BackendKey {
  /** Its public half, as the backend has it: not through Signpost. */
  readonly publicKey: KeyObject;
  open(): Promise<GuardedSigner>;
}

/** How a backend makes a fault. */
export interface FaultSwitch {
  on(key: BackendKey): void | Promise<void>;
  /** Ends it. */
  off(): void | Promise<void>;
  /** Where this backend differs from the kind. */
  readonly effect?: Effect | undefined;
  /** Codes that this backend may give besides those of the kind. */
  readonly codes?: readonly SignerErrorCode[] | undefined;
  /** How long after the fault calls may still fail. Milliseconds, default 5000. */
  readonly recoveryMs?: number | undefined;
  /**
   * For a fault with which every call may give a token: a count that grows when the signer has felt it, such as that of
   * connections.
   */
  readonly felt?: (() => number) | undefined;
}

/** What signs the tokens of an OP. */
export interface Issuer {
  sign(claims: Readonly<Record<string, unknown>>): Promise<string>;
  close(): Promise<void>;
}

/** A backend with the faults that it can have. */
export interface FaultyBackend {
  /** A new key. */
  newKey(): Promise<BackendKey>;
  /** Starts what signs with the current keys of the OP. Default: `signJwt` does. */
  readonly startIssuer?: ((keys: () => KeySet) => Promise<Issuer>) | undefined;
  readonly faults: Partial<Readonly<Record<Kind, FaultSwitch>>>;
  /** Closes clients that a caller would close, after all signers. */
  closeClients?(): Promise<void>;
  /** What is still open at the backend, such as `2 connections`. Nothing, if all signers are closed. */
  open(): readonly string[];
  /** Forgets what the backend has recorded of calls. Called between episodes. */
  forget(): void;
  stop(): Promise<void>;
}

/** Starts a backend. */
export type StartBackend = () => Promise<FaultyBackend>;
