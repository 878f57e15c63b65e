import type { P256PublicJwk } from "../encoding/ec-point.ts";

/** Options of one call of `sign`. */
export interface SignOptions {
  /** Aborts this call. It then rejects with `SignerError` `aborted`, with the signal's reason as the `cause`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The bytes whose SHA-256 is `digest`, for signers that can only hash and sign in one step. The result is always a
   * signature over `digest`.
   */
  readonly signingInput?: Uint8Array | undefined;
}

/**
 * Signs SHA-256 digests with one P-256 key. This is what an adapter implements: each call makes one attempt, and settles
 * within a second of its signal. `guardSigner` adds retries, limits and deadlines.
 */
export interface Signer {
  /** Canonical key URI, never a secret: `awskms:///arn:aws:kms:…`. */
  readonly uri: string;
  /** The public key. Known once the signer is open, and never changes. */
  readonly publicKey: P256PublicJwk;
  /**
   * Signs a digest of 32 bytes. Resolves with 64 bytes r‖s (RFC 7518 section 3.4). Safe for concurrent use. Neither keeps
   * nor changes the digest. Rejects with `SignerError`.
   */
  sign(digest: Uint8Array, options?: SignOptions): Promise<Uint8Array>;
  /** Closes the signer. Can be called again. Started calls finish within their deadline, queued ones reject with `closed`. */
  close(): Promise<void>;
}

/** The health of a signer, from its calls and from its adapter. The worse of the two counts. */
export interface SignerHealth {
  /** `ready`: the last call succeeded. `degraded`: it failed, and a retry may succeed. `down`: it fails until an operator acts. */
  readonly status: "ready" | "degraded" | "down";
  /** When the status last changed. */
  readonly since: Date;
  /** The code of the last failure, while the status is not `ready`. */
  readonly lastCode?: string;
  /** Notes for the operator, never a secret. */
  readonly notes: readonly string[];
}

/** A signer with a guard around it: queue, slots, attempts, deadline, events and health. */
export interface GuardedSigner extends Signer, AsyncDisposable {
  /** The current health of the signer. Makes no backend call. */
  health(): SignerHealth;
}

/** A limit for backend calls, concurrent or in a span of time, for one signer or shared by several. */
export interface Limiter {
  /** Number of calls that hold a slot. */
  readonly active: number;
  /** Number of calls that wait for a slot. */
  readonly queued: number;
  /**
   * Takes a slot. Returns a function that gives it back, or a promise of that function if no slot is free. A second call of
   * the function does nothing. Rejects with `overloaded` if the queue is full, and with the signal's reason if it aborts
   * while waiting.
   *
   * `withinMs` is how many milliseconds the call has left, and 0 if it does not want to wait at all. A limiter that knows
   * that the wait would be longer rejects with `overloaded` immediately. Default: no limit.
   */
  acquire(signal?: AbortSignal, withinMs?: number): (() => void) | Promise<() => void>;
}

/** The limits of a guarded signer. */
export interface GuardPolicy {
  /** Time limit for a call, including the queue and all attempts. Whole milliseconds, 1 to 2,147,483,647. Default 5000. */
  readonly deadlineMs?: number | undefined;
  /** Time limit for one attempt, after which its signal aborts. Whole milliseconds, 1 to 2,147,483,647. Default 2000. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Attempts per call, including the first. 1 to 100. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** Concurrent backend calls. 1 to 10,000. Default 16. */
  readonly concurrency?: number | undefined;
  /** Calls that may wait for a slot. One more rejects with `overloaded` immediately. 0 to 1,000,000. Default 1000. */
  readonly maxQueue?: number | undefined;
  /**
   * Milliseconds after which an attempt that has no answer may get a second one beside it, the hedge. The first good answer
   * wins, and the other attempt is aborted. At most 5 % of calls are hedged, and none while the backend fails or calls wait
   * in the queue. A hedge takes a slot and a permit, and the backend counts and bills it. Refused for signers whose calls
   * cannot be aborted (PKCS#11, local). Whole milliseconds, 1 to 2,147,483,646, less than `attemptTimeoutMs`. Default: no
   * hedges.
   */
  readonly hedgeAfterMs?: number | undefined;
  /** A limiter from `createLimiter`, instead of `concurrency` and `maxQueue`. Default: a limiter only for this signer. */
  readonly limiter?: Limiter | undefined;
}

/** What `openSigner` passes to an adapter. */
export interface AdapterOpenOptions {
  /** Queue, attempts and deadline. `false` opens the bare signer, for a guard outside (failover). */
  readonly policy?: GuardPolicy | false | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** Opens signers by key URI for one scheme. */
export interface SignerAdapter {
  /** Without the colon: `awskms`. */
  readonly scheme: string;
  /** Opens the key with this URI. */
  open(uri: string, options?: AdapterOpenOptions): Promise<Signer>;
}
