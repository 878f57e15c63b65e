import type { P256PublicJwk } from "../encoding/ec-point.ts";

/** Options of one call of `sign`. */
export interface SignOptions {
  /** Aborts this call: it rejects with `SignerError("aborted", { cause: signal.reason })`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The bytes whose SHA-256 is `digest`, for signers that hash and sign natively. The result is a
   * signature over `digest` in every case.
   */
  readonly signingInput?: Uint8Array | undefined;
}

/**
 * Signs SHA-256 digests with one P-256 key held anywhere. This is what an adapter implements: one attempt
 * per call, settled within a second of its signal. Retries, limits and deadlines wrap it from outside
 * (`guardSigner`).
 */
export interface Signer {
  /** Canonical key URI, never a secret: `awskms:///arn:aws:kms:…`. */
  readonly uri: string;
  /** Known from the moment the signer is open, and never changing. */
  readonly publicKey: P256PublicJwk;
  /**
   * 32 bytes in, 64 bytes r‖s out (RFC 7518 section 3.4). Safe for concurrent use. The digest is not kept
   * and not changed. Rejects with `SignerError`.
   */
  sign(digest: Uint8Array, options?: SignOptions): Promise<Uint8Array>;
  /** Idempotent. Started calls finish within their deadline, queued ones reject with `closed`. */
  close(): Promise<void>;
}

/** How a signer is doing, as its calls showed and as its adapter sees it. The worse of the two counts. */
export interface SignerHealth {
  /** `ready`: the last call succeeded. `degraded`: it failed, and may succeed later. `down`: it fails until an operator acts. */
  readonly status: "ready" | "degraded" | "down";
  /** When the status last changed. */
  readonly since: Date;
  /** The code of the last failure, while the status is not `ready`. */
  readonly lastCode?: string;
  /** What an operator should know, never a secret. */
  readonly notes: readonly string[];
}

/** A signer inside the guard: queue, slots, attempts, deadline, events and health. */
export interface GuardedSigner extends Signer, AsyncDisposable {
  /** How the signer is doing now. Costs no call of the backend. */
  health(): SignerHealth;
}

/** One budget of concurrent backend calls, for one signer or shared by many. */
export interface Limiter {
  /** Calls that hold a slot now. */
  readonly active: number;
  /** Calls that wait for one. */
  readonly queued: number;
  /**
   * A function that gives the slot back (idempotent): at once where a slot is free, else when one is.
   * Rejects with `overloaded` when the queue is full, and with the signal's reason when it aborts while waiting.
   */
  acquire(signal?: AbortSignal): (() => void) | Promise<() => void>;
}

/** The bounds of a guarded signer. */
export interface GuardPolicy {
  /** Queueing and every attempt included. Whole milliseconds, 1 to 2,147,483,647. Default 5000. */
  readonly deadlineMs?: number | undefined;
  /** Bound of one attempt, which aborts that attempt's signal. Whole milliseconds, 1 to 2,147,483,647. Default 2000. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Attempts per call, the first one included. 1 to 100. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** Backend calls at once. 1 to 10,000. Default 16. */
  readonly concurrency?: number | undefined;
  /** Calls that may wait for a slot; one more is `overloaded` at once. 0 to 1,000,000. Default 1000. */
  readonly maxQueue?: number | undefined;
  /** A shared budget, instead of `concurrency` and `maxQueue`. Default: a limiter for this signer alone. */
  readonly limiter?: Limiter | undefined;
}

/** What `openSigner` passes to an adapter. */
export interface AdapterOpenOptions {
  /** Queue, attempts and deadline. `false` opens the bare signer, to be guarded outside (failover). */
  readonly policy?: GuardPolicy | false | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** Opens signers by key URI for one scheme. */
export interface SignerAdapter {
  /** Without the colon: `awskms`. */
  readonly scheme: string;
  /** Opens the key that the URI names. */
  open(uri: string, options?: AdapterOpenOptions): Promise<Signer>;
}
