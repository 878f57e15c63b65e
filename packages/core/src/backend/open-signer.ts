import type { P256PublicJwk } from "../encoding/ec-point.ts";
import { p256JwkFrom } from "../encoding/given-key.ts";
import type { JwkInput } from "../encoding/public-jwk.ts";
import { asSignerError, nameSigner, SignpostError, type SignerError } from "../errors.ts";
import type { GuardPolicy, Signer } from "../signer/contract.ts";
import { createToldSigner, type SignerBackend } from "../signer/create.ts";
import { attemptBounds, hasCallEnded } from "../signer/call-end.ts";
import { endedError } from "../signer/endings.ts";
import { guardSigner, type GuardDetails } from "../signer/guard.ts";
import { type SignerStatus, worstStatus } from "../signer/health.ts";
import { readPolicy } from "../signer/policy.ts";
import {
  nameOpening,
  openingBounds,
  retryOpening,
  type CallBounds,
  type OpeningBounds,
  type OpeningOptions,
} from "./opening.ts";
import { withinDeadline } from "./within-deadline.ts";

/**
 * Creates the signer for an opened key: bare if the policy is `false`, otherwise guarded.
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
  // On the bare signer, so that a failover over bare signers shows them too.
  const signer = createToldSigner(backend, {
    notes: () => [...(backend.notes?.() ?? []), ...(typeof notes === "function" ? notes() : notes)],
    status: () => worstStatus({ status: backend.status?.() ?? "ready" }, { status: status?.() ?? "ready" }),
  });
  return policy === false ? signer : guardSigner(signer, policy, { defaults });
}

/** The options that every adapter of a remote backend has. */
export interface AdapterSignerOptions extends OpeningOptions {
  /**
   * The key's public half, as JWK or SPKI PEM. Opening then makes no call, and `signWith` checks the key with the first
   * signature. Use it for faster cold starts, and to start while the backend is down. Default: read from the backend.
   */
  readonly publicKey?: JwkInput | string | undefined;
}

/** The common options of all adapters, checked. */
export interface OpeningPlan {
  /** The guard's policy, or `false` for a bare signer. */
  readonly policy: GuardPolicy | false;
  /** The limits of opening and of each call. */
  readonly bounds: OpeningBounds;
  /** The public key that the caller passed. */
  readonly pinned: P256PublicJwk | undefined;
}

/**
 * Checks the options that every adapter has. Call it before you open anything.
 *
 * @throws ConfigurationError for an invalid policy, deadline or signal; EncodingError `invalid_jwk`,
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

/** A key as the backend returned it. */
export interface OpenedKey {
  /** The name that signing uses: a key ARN, the name of a key version. It never changes. */
  readonly name: string;
  /** The key's public half. */
  readonly publicKey: P256PublicJwk;
  /** Notes for the operator, never a secret. Shown by `health()`. Default none. */
  readonly notes?: readonly string[] | undefined;
}

/** What an adapter of a remote backend implements: the calls, with one attempt each, and the names of its keys. */
export interface RemoteBackend {
  /** The key that the caller wants to open. A public key that the caller passed is assumed to belong to this name. */
  readonly name: string;
  /** Reads the public key. Rejects with `SignerError`. */
  readKey(bounds: CallBounds): Promise<OpenedKey>;
  /** True for an error that means that the key is still being created. Default: never. */
  isPending?(error: SignerError): boolean;
  /** Notes for the operator about the connection to the backend, never a secret. Shown by `health()`. Default none. */
  readonly notes?: readonly string[] | (() => readonly string[]) | undefined;
  /** The status of the connection, called by each `health()`. Default: `ready`. */
  readonly status?: (() => SignerStatus) | undefined;
  /** The canonical key URI for a name. Opening errors contain the URI for the caller's name. */
  uriOf(name: string): string;
  /**
   * Whether `signDigest` copies its bounds, as `{ ...bounds }` does. If `false`, each call takes less time, and `signal` has to
   * be read from the bounds themselves. Default `true`.
   */
  readonly spreadsBounds?: boolean | undefined;
  /** Makes one signature, 64 bytes r‖s. Rejects with `SignerError`. */
  signDigest(name: string, digest: Uint8Array, bounds: CallBounds): Promise<Uint8Array>;
  /** Closes what was opened for this signer. Called once: by the signer's `close()`, or if opening fails. */
  close(): Promise<void>;
}

/**
 * Opens a signer with a key of a remote backend. The plan's deadline and attempts limit opening. The attempt timeout limits
 * each call, even of a bare signer. A call that was ended keeps its slot until the backend settles it, for at most a
 * second.
 *
 * Rejects with the last `SignerError` of `readKey`, or with `timeout` or `aborted`. Its `uri` names the key. The backend is
 * closed then.
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
    const connectionNotes = (): readonly string[] =>
      typeof backend.notes === "function" ? backend.notes() : (backend.notes ?? []);
    const { attemptTimeoutMs } = plan.bounds;
    const { spreadsBounds = true } = backend;
    return createAdapterSigner(
      {
        uri: backend.uriOf(name),
        publicKey,
        // A guard uses the same attempt timeout, and passes a signal to each attempt.
        callTimeoutMs: plan.policy === false ? attemptTimeoutMs : undefined,
        spreadsOptions: false,
        signDigest: (digest, call) => {
          const bounds = attemptBounds(call, attemptTimeoutMs, spreadsBounds);
          return inTime(backend.signDigest(name, digest, bounds), bounds);
        },
        close: () => backend.close(),
      },
      plan.policy,
      { notes: () => [...connectionNotes(), ...notes], status: () => backend.status?.() ?? "ready" },
    );
  } catch (error) {
    // The reason matters more than a failure to close the backend, and must not wait for a close that hangs.
    await withinDeadline(() => backend.close(), { deadlineMs: CLOSING_MS }).catch(() => undefined);
    throw openingError(error, backend);
  }
}

/** The error of a failed opening, which names the key. Only the backend's errors name it in their message. */
function openingError(cause: unknown, backend: RemoteBackend): unknown {
  const error = cause instanceof SignpostError ? cause : asSignerError(cause);
  const uri = backend.uriOf(backend.name);
  return error.message.includes(backend.name) ? nameSigner(error, uri) : nameOpening(error, uri);
}

/** How long a failed opening waits for the backend to close. Milliseconds. */
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

/** If the call was ended, drops its result or error, and rejects with the reason of the signal. */
async function inTime(call: Promise<Uint8Array>, bounds: CallBounds): Promise<Uint8Array> {
  try {
    const signature = await call;
    if (!hasCallEnded(bounds)) return signature;
  } catch (error) {
    if (!hasCallEnded(bounds)) throw error;
  }
  throw endedError(bounds.signal.reason);
}
