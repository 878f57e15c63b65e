import type { P256PublicJwk } from "../encoding/ec-point.ts";
import { p256JwkFrom } from "../encoding/given-key.ts";
import type { JwkInput } from "../encoding/public-jwk.ts";
import { asSignerError, nameSigner, SignpostError, type SignerError } from "../errors.ts";
import type { GuardPolicy, Signer } from "../signer/contract.ts";
import { createSigner, type SignerBackend } from "../signer/create.ts";
import { endedError } from "../signer/endings.ts";
import { guardSigner, type GuardDetails } from "../signer/guard.ts";
import { readPolicy } from "../signer/policy.ts";
import { openingBounds, retryOpening, type CallBounds, type OpeningBounds, type OpeningOptions } from "./opening.ts";
import { withinDeadline } from "./within-deadline.ts";

/**
 * The signer of an opened key, as the caller's policy asks for it: bare for `false`, else guarded.
 *
 * @throws ConfigurationError for a policy out of bounds. Read it with `readPolicy` before anything is opened.
 * @example
 * ```ts
 * import type { GuardPolicy, Signer } from "@signpost/core";
 * import { createAdapterSigner, type SignerBackend } from "@signpost/core/adapter";
 *
 * declare const backend: SignerBackend;
 *
 * export const signerFor = (policy?: GuardPolicy | false): Signer => createAdapterSigner(backend, policy);
 * ```
 */
export function createAdapterSigner(
  backend: SignerBackend,
  policy: GuardPolicy | false | undefined,
  details: GuardDetails = {},
): Signer {
  const { notes = [], status, defaults } = details;
  // On the signer itself: a failover over bare signers shows them too.
  const signer = createSigner({
    ...backend,
    notes: typeof notes === "function" ? notes : () => notes,
    status,
  });
  return policy === false ? signer : guardSigner(signer, policy, { defaults });
}

/** The options that an adapter of a remote backend has, whatever the backend. */
export interface AdapterSignerOptions extends OpeningOptions {
  /**
   * The key's public half, as JWK or SPKI PEM: opening then makes no call, and `signWith` proves it by the first
   * signature. For cold starts, and for starting while the backend is away. Default: the backend is asked for it.
   */
  readonly publicKey?: JwkInput | string | undefined;
}

/** What of an adapter's options is the same for every backend, checked. */
export interface OpeningPlan {
  /** The guard's policy, or `false` for a bare signer. */
  readonly policy: GuardPolicy | false;
  /** Of opening, and of each call. */
  readonly bounds: OpeningBounds;
  /** The public key that the caller gave. */
  readonly pinned: P256PublicJwk | undefined;
}

/**
 * Checks the options that every adapter has, before anything is opened for them.
 *
 * @throws ConfigurationError for a policy, a deadline or a signal that could never work; EncodingError `invalid_jwk`,
 * `invalid_spki`, `unsupported_key` for `publicKey`.
 * @example
 * ```ts
 * import { planOpening } from "@signpost/core/adapter";
 *
 * const plan = planOpening({ policy: { maxAttempts: 2 }, openDeadlineMs: 10_000 });
 * ```
 */
export function planOpening(options: AdapterSignerOptions): OpeningPlan {
  const { openDeadlineMs, signal, publicKey } = options;
  const policy = readPolicy(options.policy) ?? {};
  const bounds = openingBounds({ policy, openDeadlineMs, signal });
  return { policy, bounds, pinned: publicKey === undefined ? undefined : p256JwkFrom(publicKey, "publicKey") };
}

/** A key that a backend was asked for. */
export interface OpenedKey {
  /** What every signature is asked of: a key ARN, the name of a version. It never changes. */
  readonly name: string;
  /** The key's public half. */
  readonly publicKey: P256PublicJwk;
  /** What an operator should know, never a secret. Shown by `health()`. Default none. */
  readonly notes?: readonly string[] | undefined;
}

/** What an adapter of a remote backend brings: the calls, one attempt each, and what its keys are called. */
export interface RemoteBackend {
  /** Names the key that the caller asked for. A pinned public key is believed to be that of this name. */
  readonly name: string;
  /** Asks for the public key. Rejects with `SignerError`. */
  readKey(bounds: CallBounds): Promise<OpenedKey>;
  /** True for an error that says that the key is still being made. Default: never. */
  isPending?(error: SignerError): boolean;
  /** What an operator should know about how the backend is reached, never a secret. Shown by `health()`. Default none. */
  readonly notes?: readonly string[] | undefined;
  /** The canonical key URI. With the name that the caller gave, it names the key in an error of opening. */
  uriOf(name: string): string;
  /** Asks for one signature of 64 bytes r‖s. Rejects with `SignerError`. */
  signDigest(name: string, digest: Uint8Array, bounds: CallBounds): Promise<Uint8Array>;
  /** Ends what was opened for this signer. Called once: by the signer's `close()`, or when opening fails. */
  close(): Promise<void>;
}

/**
 * Opens a signer on a key of a remote backend. Opening is bounded by the plan's deadline and attempts. Each call is bounded
 * by its attempt timeout, also that of a bare signer. The place of a call that was ended stays taken until the backend has
 * settled it, at most a second.
 *
 * Rejects with the last `SignerError` of `readKey`, or with `timeout` or `aborted`; its `uri` names the key that was asked
 * for. The backend is closed then.
 *
 * @example
 * ```ts
 * import type { Signer } from "@signpost/core";
 * import { openAdapterSigner, planOpening, type AdapterSignerOptions, type RemoteBackend } from "@signpost/core/adapter";
 *
 * declare function connect(key: string): Promise<RemoteBackend>;
 *
 * export async function openExampleSigner(key: string, options: AdapterSignerOptions = {}): Promise<Signer> {
 *   const plan = planOpening(options);
 *   return openAdapterSigner(plan, await connect(key));
 * }
 * ```
 */
export async function openAdapterSigner(plan: OpeningPlan, backend: RemoteBackend): Promise<Signer> {
  try {
    const { name, publicKey, notes = [] } = await openKey(plan, backend);
    const { attemptTimeoutMs } = plan.bounds;
    return createAdapterSigner(
      {
        uri: backend.uriOf(name),
        publicKey,
        // The guard bounds its attempts by the same time, and gives each a signal.
        callTimeoutMs: plan.policy === false ? attemptTimeoutMs : undefined,
        // So there is always a signal; the type cannot say so.
        signDigest: (digest, { signal = AbortSignal.timeout(attemptTimeoutMs) }) =>
          inTime(backend.signDigest(name, digest, { signal, timeoutMs: attemptTimeoutMs }), signal),
        close: () => backend.close(),
      },
      plan.policy,
      { notes: [...(backend.notes ?? []), ...notes] },
    );
  } catch (error) {
    // Why it was not opened says more than a failure to close what is left of it, and cannot wait for one that hangs.
    await withinDeadline(() => backend.close(), { deadlineMs: CLOSING_MS }).catch(() => undefined);
    throw nameSigner(error instanceof SignpostError ? error : asSignerError(error), backend.uriOf(backend.name));
  }
}

/** How long an opening that failed waits for its backend to close. Milliseconds. */
const CLOSING_MS = 1000;

async function openKey({ bounds, pinned }: OpeningPlan, backend: RemoteBackend): Promise<OpenedKey> {
  if (bounds.signal?.aborted === true) throw endedError(bounds.signal.reason);
  if (pinned !== undefined) {
    return { name: backend.name, publicKey: pinned, notes: ["the public key was given, not fetched"] };
  }
  return retryOpening(
    (call) => backend.readKey(call),
    bounds,
    (error) => backend.isPending?.(error) === true,
  );
}

/** What comes after the end of a call is dropped, whatever it is: why the call was ended is what its caller learns. */
async function inTime(call: Promise<Uint8Array>, signal: AbortSignal): Promise<Uint8Array> {
  const [outcome] = await Promise.allSettled([call]);
  if (signal.aborted) throw endedError(signal.reason);
  if (outcome.status === "rejected") throw outcome.reason;
  return outcome.value;
}
