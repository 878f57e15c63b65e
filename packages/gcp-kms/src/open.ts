import { setTimeout as pause } from "node:timers/promises";
import {
  ConfigurationError,
  createSigner,
  endedError,
  guardSigner,
  p256JwkFrom,
  SignerError,
  type GuardedSigner,
  type GuardPolicy,
  type JwkInput,
  type P256PublicJwk,
  type Signer,
} from "@signpost/core";
import { type CallBounds, milliseconds } from "./call.ts";
import { connect, type Connection, type GcpKmsConnectionOptions } from "./connection.ts";
import { checkedPublicKey, checkedSignature } from "./integrity.ts";
import { asymmetricSign, getPublicKey } from "./service.ts";
import { parseKmsName, toUri } from "./uri.ts";
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
  const keyVersion = await requireVersion(options);
  const pinned = options.publicKey === undefined ? undefined : p256JwkFrom(options.publicKey, "publicKey");
  const policy = options.policy === false ? {} : (options.policy ?? {});
  const timeoutMs = milliseconds(
    "callTimeoutMs",
    options.callTimeoutMs ?? policy.attemptTimeoutMs ?? (options.policy === false ? 10_000 : 2000),
  );
  const deadlineMs = milliseconds("openDeadlineMs", options.openDeadlineMs ?? policy.deadlineMs ?? 5000);
  const connection = await connect(options);
  try {
    const key =
      pinned === undefined
        ? await readKey(connection, keyVersion, { timeoutMs, signal: options.signal }, deadlineMs)
        : { publicKey: pinned, notes: [] };
    const signer = createSigner({
      uri: toUri(keyVersion),
      publicKey: key.publicKey,
      signDigest: async (digest, { signal }) =>
        checkedSignature(await asymmetricSign(connection, keyVersion, digest, { timeoutMs, signal }), keyVersion),
      close: connection.close,
    });
    return options.policy === false ? signer : guardSigner(signer, options.policy, { notes: key.notes });
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** A key without a version is refused, in words that help: which one of them signs is for the operator to say. */
async function requireVersion(options: GcpKmsSignerOptions): Promise<string> {
  const parsed = parseKmsName("keyVersion", options.keyVersion);
  if (parsed.kind === "version") return parsed.keyVersion;
  const { client, endpoint, transport, signal } = options;
  const listed = listGcpKmsKeyVersions(parsed.cryptoKey, { client, endpoint, transport, signal });
  const [versions, cause] = await listed.then(
    (all) => [all.filter(({ state }) => state === "ENABLED").map(({ keyVersion }) => keyVersion), undefined] as const,
    (error: unknown) => [undefined, error] as const,
  );
  const hint = versions === undefined ? "they could not be listed" : versions.join(", ") || "none";
  throw new ConfigurationError(
    "keyVersion",
    `expected a version, as in …/cryptoKeyVersions/1; ENABLED versions of ${parsed.cryptoKey}: ${hint}`,
    cause === undefined ? {} : { cause },
  );
}

interface OpenedKey {
  readonly publicKey: P256PublicJwk;
  /** For the operator. */
  readonly notes: readonly string[];
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;

/** Reads the public key, again and again while the failure is one that passes, until the deadline. */
async function readKey(
  connection: Connection,
  keyVersion: string,
  bounds: CallBounds,
  deadlineMs: number,
): Promise<OpenedKey> {
  const until = performance.now() + deadlineMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      const timeoutMs = Math.max(1, Math.min(bounds.timeoutMs, Math.ceil(until - performance.now())));
      const response = await getPublicKey(connection, keyVersion, { ...bounds, timeoutMs });
      const notes = [`protection level ${String(response.protectionLevel ?? "unknown")}`];
      return { publicKey: checkedPublicKey(response, keyVersion), notes };
    } catch (error) {
      const passes = error instanceof SignerError && error.transient;
      if (!passes || performance.now() + pauseMs >= until) throw error;
    }
    await pauseOrAborted(pauseMs, bounds.signal);
  }
}

async function pauseOrAborted(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch {
    throw endedError(signal?.reason);
  }
}
