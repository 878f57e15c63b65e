import { SignerError } from "@signpost/core";
import { readMilliseconds } from "@signpost/core/adapter";
import type { GcpKmsVersionResponse } from "./api.ts";
import { connect, type GcpKmsConnectionOptions } from "./connection.ts";
import { listVersions } from "./service.ts";
import { isKeyVersionName, namesProjectOtherwise, parseCryptoKey } from "./uri.ts";

/** A version of a key, as `listGcpKmsKeyVersions` gives it. */
export interface GcpKmsKeyVersion {
  /** Resource name, for `openGcpKmsSigner`. */
  readonly keyVersion: string;
  /** The API's word: `ENABLED`, `DISABLED`, `PENDING_GENERATION`, `DESTROY_SCHEDULED`, `DESTROYED`, … */
  readonly state: string;
  readonly createTime: Date;
}

export interface ListGcpKmsKeyVersionsOptions extends GcpKmsConnectionOptions {
  /** Milliseconds for all pages, default 5000. */
  readonly deadlineMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Lists the versions of a key in numeric order, so that an operator can name the active one and publish the
 * rest. It takes `cloudkms.cryptoKeyVersions.list` (`roles/cloudkms.viewer`), which signing does not need.
 *
 * ```ts
 * import { listGcpKmsKeyVersions } from "@signpost/gcp-kms";
 *
 * const cryptoKey = "projects/op/locations/europe-west3/keyRings/signing/cryptoKeys/id-token";
 * const enabled = (await listGcpKmsKeyVersions(cryptoKey)).filter(({ state }) => state === "ENABLED");
 * ```
 *
 * @throws SignerError of the service's answer; ConfigurationError for a name that is not a key's.
 */
export async function listGcpKmsKeyVersions(
  cryptoKey: string,
  options: ListGcpKmsKeyVersionsOptions = {},
): Promise<readonly GcpKmsKeyVersion[]> {
  const parent = parseCryptoKey(cryptoKey);
  const bounds = { timeoutMs: readMilliseconds("deadlineMs", options.deadlineMs ?? 5000), signal: options.signal };
  const connection = await connect(options);
  try {
    const versions = await listVersions(connection, parent, bounds);
    return versions
      .map((version) => toKeyVersion(version, parent))
      .toSorted((a, b) => Number(versionNumber(a) - versionNumber(b)));
  } finally {
    await connection.close();
  }
}

function toKeyVersion({ name, state, createTime }: GcpKmsVersionResponse, parent: string): GcpKmsKeyVersion {
  if (typeof name !== "string" || !isKeyVersionName(name)) throw incomplete("name");
  const cryptoKey = name.slice(0, name.lastIndexOf("/cryptoKeyVersions/"));
  // Whoever asks by the project's number learns the name that the service gives, which is the one that opens.
  if (cryptoKey !== parent && !namesProjectOtherwise(cryptoKey, parent)) {
    throw new SignerError("wrong_key", `asked for the versions of ${parent}, the service answered with ${name}`);
  }
  if (state === undefined || state === null) throw incomplete("state");
  const seconds = createTime?.seconds;
  if (seconds === undefined || seconds === null) throw incomplete("createTime");
  return {
    keyVersion: name,
    state: String(state),
    createTime: new Date(Number(seconds) * 1000 + Math.trunc((createTime?.nanos ?? 0) / 1e6)),
  };
}

function incomplete(member: string): SignerError {
  return new SignerError("integrity", `the list of versions holds one without ${member}`);
}

function versionNumber({ keyVersion }: GcpKmsKeyVersion): bigint {
  return BigInt(keyVersion.slice(keyVersion.lastIndexOf("/") + 1));
}
