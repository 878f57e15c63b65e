import { setTimeout as pause } from "node:timers/promises";
import {
  ConfigurationError,
  guardSigner,
  SignerError,
  type GuardedSigner,
  type GuardPolicy,
  type JwkInput,
  type P256PublicJwk,
  type Signer,
} from "@signpost/core";
import { assertPolicy, createSigner, endedError, p256JwkFrom, readMilliseconds } from "@signpost/core/adapter";
import { connect, type Connection, type GcpKmsConnectionOptions } from "./connection.ts";
import { checkedPublicKey, checkedSignature } from "./integrity.ts";
import { asymmetricSign, getPublicKey } from "./service.ts";
import { type KmsName, parseKmsName, toUri } from "./uri.ts";
import { listGcpKmsKeyVersions } from "./versions.ts";

export interface GcpKmsSignerOptions extends GcpKmsConnectionOptions {
  /**
   * Resource name of one version, `projects/…/cryptoKeys/KEY/cryptoKeyVersions/N`, in the service's own spelling
   * (project id, not number). `…/versions/N` is accepted. Nothing ever follows the latest version.
   */
  readonly keyVersion: string;
  /**
   * The version's public key, as JWK or SPKI PEM: opening then makes no call. `signWith` proves it by the
   * first signature.
   */
  readonly publicKey?: JwkInput | string | undefined;
  /**
   * Bound of one call of the service. Milliseconds, default the policy's `attemptTimeoutMs`, 2000; 10 000 with
   * `policy: false`, where whoever guards the signer has the clock.
   */
  readonly callTimeoutMs?: number | undefined;
  /**
   * How long opening may try again what passes: an outage, or a version that is PENDING_GENERATION.
   * Milliseconds, default the policy's `deadlineMs`, 5000.
   */
  readonly openDeadlineMs?: number | undefined;
  /** Queue, attempts and deadline of each signature; `false` opens the bare signer. */
  readonly policy?: GuardPolicy | false | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a signer on one version of a key in Google Cloud KMS, of the algorithm `EC_SIGN_P256_SHA256`. Every
 * digest and every answer is checked end to end by CRC32C and by the name of the version.
 *
 * ```ts
 * import { openGcpKmsSigner } from "@signpost/gcp-kms";
 *
 * await using signer = await openGcpKmsSigner({
 *   keyVersion: "projects/op/locations/europe-west3/keyRings/signing/cryptoKeys/id-token/cryptoKeyVersions/3",
 * });
 * ```
 *
 * @throws ConfigurationError for a name without a version (the message lists the ENABLED ones) and for options
 * that do not fit together; SignerError `key_not_found`, `key_disabled`, `access_denied`, `unsupported_key`,
 * `wrong_key`, `integrity`, and transient ones when the deadline is over. A version that is
 * PENDING_GENERATION is waited for until then.
 */
export function openGcpKmsSigner(options: GcpKmsSignerOptions & { readonly policy: false }): Promise<Signer>;
export function openGcpKmsSigner(
  options: GcpKmsSignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
export function openGcpKmsSigner(options: GcpKmsSignerOptions): Promise<Signer>;
export async function openGcpKmsSigner(options: GcpKmsSignerOptions): Promise<Signer> {
  const plan = planOpening(options);
  const keyVersion = plan.name.kind === "version" ? plan.name.keyVersion : await refuseKey(plan, plan.name, options);
  const { timeoutMs } = plan;
  const connection = await connect(options);
  try {
    const key = plan.pinned ?? (await readKey(connection, keyVersion, options.signal, plan));
    const signer = createSigner({
      uri: toUri(keyVersion),
      publicKey: key.publicKey,
      signDigest: async (digest, { signal }) => {
        const bounds = { timeoutMs, signal, settleMs: SETTLE_MS };
        return checkedSignature(await asymmetricSign(connection, keyVersion, digest, bounds), keyVersion);
      },
      close: connection.close,
    });
    return plan.policy === false ? signer : guardSigner(signer, plan.policy, { notes: key.notes });
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** As long as a signer may take to settle after its signal: its place in the guard is taken until then. */
const SETTLE_MS = 1000;

interface OpenedKey {
  readonly publicKey: P256PublicJwk;
  /** For the operator. */
  readonly notes: readonly string[];
}

interface Plan {
  readonly name: KmsName;
  readonly policy: GuardPolicy | false;
  readonly pinned: OpenedKey | undefined;
  readonly timeoutMs: number;
  readonly deadlineMs: number;
}

/** Where no guard of ours has the clock. Milliseconds. */
const UNGUARDED_TIMEOUT_MS = 10_000;

/** Everything that can be refused before anything is opened. */
function planOpening(options: GcpKmsSignerOptions): Plan {
  const policy = options.policy ?? {};
  assertPolicy(policy);
  const { deadlineMs = 5000, attemptTimeoutMs = 2000 }: GuardPolicy = policy === false ? {} : policy;
  const { callTimeoutMs = policy === false ? UNGUARDED_TIMEOUT_MS : attemptTimeoutMs, publicKey } = options;
  return {
    name: parseKmsName("keyVersion", options.keyVersion),
    policy,
    pinned:
      publicKey === undefined
        ? undefined
        : { publicKey: p256JwkFrom(publicKey, "publicKey"), notes: ["the public key was given, not fetched"] },
    timeoutMs: readMilliseconds("callTimeoutMs", callTimeoutMs),
    deadlineMs: readMilliseconds("openDeadlineMs", options.openDeadlineMs ?? deadlineMs),
  };
}

/** A key without a version is refused, in words that help: which one of them signs is for the operator to say. */
async function refuseKey(
  { deadlineMs }: Plan,
  { cryptoKey }: Extract<KmsName, { kind: "key" }>,
  options: GcpKmsSignerOptions,
): Promise<never> {
  const { client, endpoint, transport, signal } = options;
  const listed = listGcpKmsKeyVersions(cryptoKey, { client, endpoint, transport, signal, deadlineMs });
  const [versions, cause] = await listed.then(
    (all) => [all.filter(({ state }) => state === "ENABLED").map(({ keyVersion }) => keyVersion), undefined] as const,
    (error: unknown) => [undefined, error] as const,
  );
  if (signal?.aborted === true) throw endedError(signal.reason);
  const hint = versions === undefined ? "they could not be listed" : versions.join(", ") || "none";
  throw new ConfigurationError(
    "keyVersion",
    `expected a version, as in …/cryptoKeyVersions/1; ENABLED versions of ${cryptoKey}: ${hint}`,
    cause === undefined ? {} : { cause },
  );
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;

/** Reads the public key, again and again while the failure is one that passes, until the deadline. */
async function readKey(
  connection: Connection,
  keyVersion: string,
  signal: AbortSignal | undefined,
  plan: Plan,
): Promise<OpenedKey> {
  const until = performance.now() + plan.deadlineMs;
  let reason: SignerError | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const leftMs = Math.max(1, Math.ceil(until - performance.now()));
    try {
      const timeoutMs = Math.min(plan.timeoutMs, leftMs);
      const response = await getPublicKey(connection, keyVersion, { timeoutMs, signal });
      const notes = [`protection level ${response.protectionLevel ?? "unknown"}`];
      return { publicKey: checkedPublicKey(response, keyVersion), notes };
    } catch (error) {
      if (!(error instanceof SignerError) || !error.transient) throw error;
      // That the last attempt was cut short says nothing; why it was the last one does.
      if (error.code !== "timeout" || leftMs >= plan.timeoutMs) reason = error;
      if (performance.now() + pauseMs >= until) throw reason ?? error;
    }
    await pauseOrAborted(pauseMs, signal);
  }
}

async function pauseOrAborted(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch {
    throw endedError(signal?.reason);
  }
}
