import type { P256PublicJwk } from "../encoding/ec-point.ts";
import { asSignerError, ConfigurationError, nameSigner, SignerError } from "../errors.ts";
import { given } from "../options/given.ts";
import { readMilliseconds } from "../options/read-values.ts";
import { checkedOptions, copiedDigest } from "./arguments.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { closedError, endedError } from "./endings.ts";
import type { SignerStatus } from "./health.ts";
import { insideOf, showInside } from "./inside.ts";
import { onAbort } from "./on-abort.ts";
import { copiedSignature } from "./places.ts";
import { createSettling } from "./settling.ts";

/** What an adapter brings: the key it opened, and one attempt at one signature. */
export interface SignerBackend {
  /** Canonical key URI, never a secret. */
  readonly uri: string;
  /** The key that is open. */
  readonly publicKey: P256PublicJwk;
  /**
   * One attempt. `digest` has 32 bytes and is this call's own copy. Settles soon after its signal, and rejects
   * with `SignerError`. One that has not settled a second after its signal is left behind: its call ends, and
   * what it gives later is dropped.
   */
  signDigest(digest: Uint8Array, options: SignOptions): Promise<Uint8Array>;
  /**
   * Bound of one attempt, after which its signal aborts with `timeout`. Whole milliseconds, 1 to 2,147,483,647. Default:
   * none, since the guard around it has one.
   */
  readonly callTimeoutMs?: number | undefined;
  /** What an operator should know, never a secret. Asked by each `health()` of the guard around it. Default: nothing. */
  readonly notes?: (() => readonly string[]) | undefined;
  /** The adapter's own view of its backend. Asked by each `health()` of the guard around it. Default: `ready`. */
  readonly status?: (() => SignerStatus) | undefined;
  /** Called once, after the last attempt has settled or was left behind. */
  close(): Promise<void>;
}

/**
 * The part of the `Signer` contract that is the same for every adapter: the digest is checked and copied, a
 * signal that is aborted already and a closed signer reject at once, no call outlives its signal by more than
 * a second whatever the backend does, `close()` is idempotent and waits for the calls in flight. A call that is left
 * behind is counted until it settles. When as many run past their signal as the guard lets through at once (16 without a
 * guard), further calls reject with `unavailable`, so that a dead backend does not collect them without end.
 *
 * @throws ConfigurationError for a backend that lacks a member, or whose `callTimeoutMs` is out of bounds.
 * @example
 * ```ts
 * import type { P256PublicJwk } from "@signpost/core";
 * import { createSigner } from "@signpost/core/adapter";
 *
 * declare const publicKey: P256PublicJwk;
 * declare function callBackend(digest: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>;
 *
 * const signer = createSigner({
 *   uri: "example:key-1",
 *   publicKey,
 *   signDigest: (digest, { signal }) => callBackend(digest, signal),
 *   close: async () => {},
 * });
 * ```
 */
export function createSigner(backend: SignerBackend): Signer {
  const publicKey = readPublicKey(backend);
  const callTimeoutMs = readCallTimeout(backend);
  const inFlight = new Set<Promise<Uint8Array>>();
  const attempts = createSettling();
  let closing: Promise<void> | undefined;

  const attempt = async (digest: Uint8Array, options: SignOptions): Promise<Uint8Array> => {
    if (closing !== undefined) throw closedError();
    const checked = checkedOptions(options);
    const { signal: caller } = checked;
    if (caller?.aborted === true) throw endedError(caller.reason);
    const copy = copiedDigest(digest);
    const { signal, letGo } = boundedSignal(caller, callTimeoutMs);
    const bounded = signal === caller ? checked : { ...checked, signal };
    const call = attempts.run(async () => backend.signDigest(copy, bounded), signal);
    inFlight.add(call);
    try {
      // The backend may use its buffer again. What is no signature is for the guard or `signWith` to refuse.
      return copiedSignature(await call) as Uint8Array;
    } finally {
      inFlight.delete(call);
      letGo();
    }
  };
  const sign = async (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
    try {
      return await attempt(digest, options);
    } catch (error) {
      throw nameSigner(asSignerError(error), backend.uri);
    }
  };
  const closeOnce = async (): Promise<void> => {
    await Promise.allSettled(inFlight);
    await backend.close();
  };

  const signer: Signer = {
    uri: backend.uri,
    publicKey,
    sign,
    close: () => (closing ??= closeOnce()),
  };
  return Object.freeze(
    showInside(signer, {
      status: () => ({ status: backend.status?.() ?? "ready" }),
      notes: () => backend.notes?.() ?? [],
      leftBehind: () => attempts.leftBehind,
      allowOverdue: attempts.allow,
    }),
  );
}

/** Member by member, since a key may be an instance of a class. Refuses what could never sign. */
function readPublicKey({ uri, publicKey, signDigest, close }: Partial<SignerBackend>): P256PublicJwk {
  if (typeof uri !== "string") throw new ConfigurationError("uri", `expected a key URI, got ${given(uri)}`);
  for (const [name, member] of Object.entries({ signDigest, close })) {
    if (typeof member !== "function") throw new ConfigurationError(name, `expected a function, got ${given(member)}`);
  }
  if (typeof publicKey !== "object" || publicKey === null || typeof publicKey.x !== "string") {
    throw new ConfigurationError("publicKey", "expected a P-256 public key as a JWK");
  }
  const { kty, crv, x, y } = publicKey;
  return Object.freeze({ kty, crv, x, y });
}

/** A timer fires at once for a time that is none, or too long for it. */
function readCallTimeout({ callTimeoutMs }: SignerBackend): number | undefined {
  return callTimeoutMs === undefined ? undefined : readMilliseconds("callTimeoutMs", callTimeoutMs);
}

interface BoundedSignal {
  readonly signal: AbortSignal | undefined;
  /** Ends the timer, and takes the listener from the caller's signal. */
  readonly letGo: () => void;
}

/** The caller's signal, or one that aborts with it and when the time is over. */
function boundedSignal(caller: AbortSignal | undefined, timeoutMs: number | undefined): BoundedSignal {
  if (timeoutMs === undefined) return { signal: caller, letGo: () => {} };
  const controller = new AbortController();
  const late = (): void => controller.abort(new SignerError("timeout", `no answer within ${timeoutMs} ms`));
  const timer = setTimeout(late, timeoutMs);
  const unlisten = onAbort(caller, () => controller.abort(caller?.reason));
  const letGo = (): void => {
    clearTimeout(timer);
    unlisten();
  };
  return { signal: controller.signal, letGo };
}

/** A signer that was written by hand, under the rules of `createSigner`; any other as it is. */
export function settlingSigner(signer: Signer): Signer {
  if (insideOf(signer) !== undefined) return signer;
  return createSigner({
    uri: signer.uri,
    publicKey: signer.publicKey,
    signDigest: async (digest, options) => signer.sign(digest, options),
    close: async () => signer.close(),
  });
}
