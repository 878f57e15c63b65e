import type { P256PublicJwk } from "../encoding/ec-point.ts";
import { asSignerError, ConfigurationError, nameSigner, SignerError } from "../errors.ts";
import { given } from "../given.ts";
import { readMilliseconds } from "../options/read-values.ts";
import { checkedOptions, copiedDigest } from "./arguments.ts";
import { AttemptController, CallerEnding, type Ending } from "./attempt-controller.ts";
import { attemptOptions } from "./call-end.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { closedError, endedError } from "./endings.ts";
import type { SignerStatus } from "./health.ts";
import { InFlight, type InFlightItem } from "./in-flight.ts";
import { type AttemptOnce, type Inside, insideOf, showInside } from "./inside.ts";
import { followDigest, followedCopy, madeAt, noteMade, placeOf, unfollowDigest } from "./places.ts";
import { createSettling } from "./settling.ts";

/** What an adapter implements: the key that it opened, and one attempt to sign. */
export interface SignerBackend {
  /** Canonical key URI, never a secret. */
  readonly uri: string;
  /** The public key. */
  readonly publicKey: P256PublicJwk;
  /**
   * Makes one attempt. `digest` has 32 bytes and is a copy for this call. It must settle soon after its signal, and reject
   * with `SignerError`. If it has not settled a second after its signal, it is abandoned: the call ends, and a later result
   * is dropped.
   */
  signDigest(digest: Uint8Array, options: SignOptions): Promise<Uint8Array>;
  /**
   * Time limit for one attempt, after which its signal aborts with `timeout`. Whole milliseconds, 1 to 2,147,483,647.
   * Default: none, since a guard has its own.
   */
  readonly callTimeoutMs?: number | undefined;
  /**
   * Why a guard must not hedge calls of this signer, such as "a started call cannot be aborted". A guard then refuses
   * `hedgeAfterMs` with this reason. Default: it may.
   */
  readonly refusesHedging?: string | undefined;
  /**
   * Whether `signDigest` copies its options, as `{ ...options }` does. If `false`, each call takes less time, and `signal` has
   * to be read from the options themselves. Default `true`.
   */
  readonly spreadsOptions?: boolean | undefined;
  /** Notes for the operator, never a secret. Called by each `health()` of the guard. Default: none. */
  readonly notes?: (() => readonly string[]) | undefined;
  /** The status of the backend, as the adapter sees it. Called by each `health()` of the guard. Default: `ready`. */
  readonly status?: (() => SignerStatus) | undefined;
  /** Called once, after the last attempt has settled or was abandoned. */
  close(): Promise<void>;
}

/**
 * Implements the part of the `Signer` contract that is the same for every adapter. It checks and copies the digest. It
 * rejects immediately if the signal is already aborted or the signer is closed. Whatever the backend does, no call outlives
 * its signal by more than a second. `close()` can be called again, and waits for the calls in flight. When as many calls
 * are unsettled after their signal as the guard allows concurrently (16 without a guard), further calls reject with
 * `unavailable`. So calls to a dead backend do not pile up.
 *
 * @throws ConfigurationError for a backend with a missing member, or with a `callTimeoutMs` out of bounds.
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
  return createToldSigner(backend, {
    notes: () => backend.notes?.() ?? [],
    status: () => ({ status: backend.status?.() ?? "ready" }),
  });
}

/** As `createSigner`, where more than the backend has something to tell. The backend may be an instance of a class. */
export function createToldSigner(backend: SignerBackend, told: Pick<Inside, "notes" | "status">): Signer {
  const publicKey = readPublicKey(backend);
  const callTimeoutMs = readCallTimeout(backend);
  const spread = backend.spreadsOptions ?? true;
  const inFlight = new InFlight<InFlightItem>();
  const attempts = createSettling();
  let closing: Promise<void> | undefined;

  /**
   * `digest` and `signingInput` belong to this attempt. `marks`: whether a signature without a place is marked with this
   * signer. A signer that is written by hand may ask several of ours, and pass on what they give.
   */
  const attempt = async (
    digest: Uint8Array,
    signingInput: Uint8Array | undefined,
    caller: Ending | undefined,
    marks: boolean = true,
  ): Promise<Uint8Array> => {
    const { ending, letGo } = bounded(backend.uri, caller, callTimeoutMs);
    const followed = followDigest(digest);
    const call = attempts.run(() => backend.signDigest(digest, attemptOptions(signingInput, ending, spread)), ending);
    const item: InFlightItem = { index: -1 };
    inFlight.add(item);
    try {
      // A copy, since the backend may reuse its buffer. The guard or `signWith` refuses a result that is not a signature.
      const signature = followedCopy(followed, await call, backend.uri) as Uint8Array;
      return marks && placeOf(signature) === undefined ? madeAt(signature, signer) : signature;
    } catch (error) {
      throw failure(error);
    } finally {
      inFlight.delete(item);
      unfollowDigest(followed);
      letGo?.();
    }
  };
  const failure = (error: unknown): SignerError => nameSigner(asSignerError(error), backend.uri);
  const sign = (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
    try {
      if (closing !== undefined) throw closedError();
      const { signal, signingInput } = checkedOptions(options);
      if (signal?.aborted === true) throw endedError(signal.reason);
      const noted = copiedDigest(digest);
      const call = attempt(new Uint8Array(noted), signingInput, signal && new CallerEnding(signal));
      return call.then((signature) => noteMade(noted, signature));
    } catch (error) {
      return Promise.reject(failure(error));
    }
  };
  const attemptOnce: AttemptOnce = (digest, signingInput, controller) => {
    if (closing !== undefined) return Promise.reject(failure(closedError()));
    if (controller.aborted) return Promise.reject(failure(endedError(controller.reason)));
    return attempt(new Uint8Array(digest), signingInput && new Uint8Array(signingInput), controller);
  };
  const signOwned = (digest: Uint8Array, signingInput: Uint8Array): Promise<Uint8Array> =>
    closing === undefined ? attempt(digest, signingInput, undefined, false) : Promise.reject(failure(closedError()));
  const closeOnce = async (): Promise<void> => {
    await inFlight.none();
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
      ...told,
      leftBehind: () => attempts.leftBehind,
      allowOverdue: attempts.allow,
      attempt: attemptOnce,
      signOwned,
      refusesHedging: backend.refusesHedging,
    }),
  );
}

/** Copies member by member, since a key may be an instance of a class. Refuses a backend that could never sign. */
function readPublicKey({ uri, publicKey, signDigest, close }: Partial<SignerBackend>): P256PublicJwk {
  if (typeof uri !== "string") throw new ConfigurationError("uri", `expected a key URI, got ${given(uri)}`);
  for (const [name, member] of Object.entries({ signDigest, close })) {
    if (typeof member !== "function") throw new ConfigurationError(name, `expected a function, got ${given(member)}`);
  }
  if (typeof publicKey !== "object" || publicKey === null || typeof publicKey.x !== "string") {
    throw new ConfigurationError(
      "publicKey",
      `expected a P-256 public key as a JWK, got ${typeof publicKey === "object" && publicKey !== null ? "an object without x" : given(publicKey)}`,
    );
  }
  const { kty, crv, x, y } = publicKey;
  return Object.freeze({ kty, crv, x, y });
}

/** A timer fires immediately if its time is invalid or too long. */
function readCallTimeout({ callTimeoutMs }: SignerBackend): number | undefined {
  return callTimeoutMs === undefined ? undefined : readMilliseconds("callTimeoutMs", callTimeoutMs);
}

interface Bounded {
  readonly ending: Ending | undefined;
  /** Stops the timer, and removes the callback from the caller's end. */
  readonly letGo?: () => void;
}

/** The caller's end, or one that comes with it and after the timeout. */
function bounded(uri: string, caller: Ending | undefined, timeoutMs: number | undefined): Bounded {
  if (timeoutMs === undefined) return { ending: caller };
  const ending = new AttemptController();
  const late = (): void => ending.abort(new SignerError("timeout", `${uri}: no answer within ${timeoutMs} ms`));
  const timer = setTimeout(late, timeoutMs);
  const unlisten = caller?.onEnd(() => ending.abort(caller.reason));
  const letGo = (): void => {
    clearTimeout(timer);
    unlisten?.();
  };
  return { ending, letGo };
}

/** Puts the rules of `createSigner` around a signer that was written by hand. Returns any other signer as it is. */
export function settlingSigner(signer: Signer): Signer {
  if (insideOf(signer) !== undefined) return signer;
  return createSigner({
    uri: signer.uri,
    publicKey: signer.publicKey,
    signDigest: async (digest, options) => signer.sign(digest, options),
    close: async () => signer.close(),
  });
}
