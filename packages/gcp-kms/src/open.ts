import { ConfigurationError, type GuardedSigner, type GuardPolicy, type Signer } from "@signpost/core";
import {
  assertOptions,
  endedError,
  markPlace,
  openAdapterSigner,
  planOpening,
  readMilliseconds,
  type AdapterSignerOptions,
  type CallBounds,
  type OpenedKey,
  type OpeningPlan,
  type OptionNames,
  type Place,
  type RemoteBackend,
} from "@signpost/core/adapter";
import { checksumOf, readPublicKey, readSignature } from "./answers.ts";
import type { GcpKmsClientLike } from "./api.ts";
import { callOnce } from "./call.ts";
import { environmentNotes, readConnectionOptions, type GcpKmsConnectionOptions } from "./client.ts";
import { connect, type Connection } from "./connection.ts";
import { isPendingVersion } from "./errors.ts";
import { parseKeyName } from "./key-name.ts";
import { formatKeyUri } from "./uri.ts";
import { listGcpKmsKeyVersions } from "./versions.ts";

/** Options of `openGcpKmsSigner`. */
export interface GcpKmsSignerOptions extends GcpKmsConnectionOptions, AdapterSignerOptions {
  /**
   * Resource name of one version, `projects/…/cryptoKeys/KEY/cryptoKeyVersions/N`, as the service spells it: with the
   * project's id and not its number. `…/versions/N` is accepted. The signer never moves to a newer version.
   */
  readonly keyVersion: string;
  /**
   * Time limit of one call of the service. Milliseconds, 1 to 2,147,483,647. Default: the policy's `attemptTimeoutMs`,
   * 2000; 5000 with `policy: false`.
   */
  readonly callTimeoutMs?: number | undefined;
}

const OPTIONS: OptionNames<GcpKmsSignerOptions> = {
  keyVersion: true,
  publicKey: true,
  client: true,
  endpoint: true,
  transport: true,
  callTimeoutMs: true,
  openDeadlineMs: true,
  policy: true,
  signal: true,
};

/**
 * Opens a signer with one version of a key in Google Cloud KMS. Its algorithm must be `EC_SIGN_P256_SHA256`. Every
 * digest and every answer is checked end to end, by CRC32C and by the name of the version. While a version is
 * PENDING_GENERATION or PENDING_IMPORT, opening waits until the deadline.
 *
 * @throws ConfigurationError for a name without a version (the message lists the ENABLED ones) and for an option that is
 * unknown, out of bounds or conflicts with another; EncodingError for a `publicKey` that is not a key; SignerError
 * `key_not_found`, `key_disabled`, `access_denied`, `unsupported_key`, `wrong_key`, `integrity`, `invalid_argument`,
 * `closed`, `aborted`, and `unavailable`, `throttled`, `timeout` after the last attempt or at the deadline.
 * @example
 * ```ts
 * import { openGcpKmsSigner } from "@signpost/gcp-kms";
 *
 * const signer = await openGcpKmsSigner({
 *   keyVersion: "projects/op/locations/europe-west3/keyRings/signing/cryptoKeys/id-token/cryptoKeyVersions/3",
 * });
 * ```
 */
export function openGcpKmsSigner(options: GcpKmsSignerOptions & { readonly policy: false }): Promise<Signer>;
/** Opens a guarded signer. */
export function openGcpKmsSigner(
  options: GcpKmsSignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
/** Opens a signer, guarded unless `policy` is `false`. */
export function openGcpKmsSigner(options: GcpKmsSignerOptions): Promise<Signer>;
export async function openGcpKmsSigner(options: GcpKmsSignerOptions): Promise<Signer> {
  assertOptions("options", options, OPTIONS);
  const name = parseKeyName("keyVersion", options.keyVersion);
  const plan = planCalls(options);
  readConnectionOptions(options);
  if (name.kind === "key") throw await refusedKey(name.cryptoKey, options, plan);
  const connection = await connect(options, name.keyVersion);
  const notes = environmentNotes(options);
  return openAdapterSigner(plan, {
    name: name.keyVersion,
    notes: () => [...notes, ...asList(connection.trouble())],
    status: () => (connection.trouble() === undefined ? "ready" : "degraded"),
    readKey: (bounds) => getPublicKey(connection, name.keyVersion, bounds),
    isPending: isPendingVersion,
    uriOf: formatKeyUri,
    spreadsBounds: false,
    signDigest: signAtPlaces(connection),
    close: () => connection.close(),
  });
}

function asList(note: string | undefined): readonly string[] {
  return note === undefined ? [] : [note];
}

/** The plan, with `callTimeoutMs` in place of the guard's attempt timeout. */
export function planCalls(options: AdapterSignerOptions & Pick<GcpKmsSignerOptions, "callTimeoutMs">): OpeningPlan {
  const plan = planOpening(options);
  const { callTimeoutMs } = options;
  if (callTimeoutMs === undefined) return plan;
  return { ...plan, bounds: { ...plan.bounds, attemptTimeoutMs: readMilliseconds("callTimeoutMs", callTimeoutMs) } };
}

async function getPublicKey(connection: Connection, keyVersion: string, bounds: CallBounds): Promise<OpenedKey> {
  const permission = "cloudkms.cryptoKeyVersions.viewPublicKey";
  const subject = { action: "read the public key of", name: keyVersion, permission };
  const answer = await callOnce(connection, subject, bounds, (client, options) =>
    client.getPublicKey({ name: keyVersion }, options),
  );
  return readPublicKey(answer, keyVersion);
}

/**
 * Signs, and marks a signature with its place if it is not from the first client. A client that replaces another must prove
 * itself again.
 */
function signAtPlaces(connection: Connection): RemoteBackend["signDigest"] {
  let first: GcpKmsClientLike | undefined;
  const places = new WeakMap<GcpKmsClientLike, Place>();
  /** Undefined for the first client: its signatures get the mark of the signer, which takes less time. */
  const placeOf = (client: GcpKmsClientLike, keyVersion: string): Place | undefined => {
    first ??= client;
    if (client === first) return undefined;
    const place = places.get(client) ?? { uri: formatKeyUri(keyVersion) };
    places.set(client, place);
    return place;
  };
  return async (keyVersion, digest, bounds) => {
    const subject = { action: "sign with", name: keyVersion, permission: "cloudkms.cryptoKeyVersions.useToSign" };
    const request = { name: keyVersion, digest: { sha256: digest }, digestCrc32c: { value: checksumOf(digest) } };
    let place: Place | undefined;
    const answer = await callOnce(connection, subject, bounds, (client, options) => {
      place = placeOf(client, keyVersion);
      return client.asymmetricSign(request, options);
    });
    const signature = readSignature(answer, keyVersion);
    return place === undefined ? signature : markPlace(signature, place);
  };
}

/** The error for a key without a version. It lists the ENABLED versions, so that the operator can choose one. */
async function refusedKey(
  cryptoKey: string,
  { client, endpoint, transport }: GcpKmsConnectionOptions,
  { bounds: { deadlineMs, signal } }: OpeningPlan,
): Promise<Error> {
  const listed = listGcpKmsKeyVersions(cryptoKey, { client, endpoint, transport, signal, deadlineMs });
  const [versions, cause] = await listed.then(
    (all) => [all.filter(({ state }) => state === "ENABLED").map(({ keyVersion }) => keyVersion), undefined] as const,
    (error: unknown) => [undefined, error] as const,
  );
  if (signal?.aborted === true) return endedError(signal.reason);
  const hint = versions === undefined ? "could not be listed" : versions.join(", ") || "none";
  return new ConfigurationError(
    "keyVersion",
    `expected a version, such as …/cryptoKeyVersions/1; ENABLED versions of ${cryptoKey}: ${hint}`,
    cause === undefined ? {} : { cause },
  );
}
