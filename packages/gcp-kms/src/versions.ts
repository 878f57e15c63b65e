import { SignerError } from "@signpost/core";
import {
  assertOptions,
  incompleteAnswer,
  memberOf,
  readMilliseconds,
  readSignal,
  withinDeadline,
  type CallBounds,
  type OptionNames,
} from "@signpost/core/adapter";
import type { GcpKmsVersionResponse } from "./api.ts";
import { isWord } from "./answers.ts";
import { callOnce } from "./call.ts";
import type { GcpKmsConnectionOptions } from "./client.ts";
import { connect, type Connection } from "./connection.ts";
import { isKeyVersionName, namesProjectOtherwise, parseCryptoKey } from "./key-name.ts";

/** A version of a key, as `listGcpKmsKeyVersions` returns it. */
export interface GcpKmsKeyVersion {
  /** Resource name, for `openGcpKmsSigner`. */
  readonly keyVersion: string;
  /** State, as the API names it: `ENABLED`, `DISABLED`, `PENDING_GENERATION`, `DESTROY_SCHEDULED`, `DESTROYED`, … */
  readonly state: string;
  /** When the version was created. */
  readonly createTime: Date;
}

/** Options of `listGcpKmsKeyVersions`. */
export interface ListGcpKmsKeyVersionsOptions extends GcpKmsConnectionOptions {
  /** Time limit for all pages together. Milliseconds, 1 to 2,147,483,647. Default 5000. */
  readonly deadlineMs?: number | undefined;
  /** Aborts the listing. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: OptionNames<ListGcpKmsKeyVersionsOptions> = {
  client: true,
  endpoint: true,
  transport: true,
  deadlineMs: true,
  signal: true,
};

/**
 * Lists the versions of a key in numeric order, so that an operator can choose the active one and publish the others.
 * It needs `cloudkms.cryptoKeyVersions.list` (`roles/cloudkms.viewer`), which signing does not need. It makes one
 * attempt.
 *
 * @throws ConfigurationError for a name that is not a key's, and for an option that is unknown, out of bounds or conflicts
 * with another; SignerError `key_not_found`, `access_denied`, `wrong_key`, `integrity`, `invalid_argument`, `closed`,
 * `aborted`, `unavailable`, `throttled`, `timeout`.
 * @example
 * ```ts
 * import { listGcpKmsKeyVersions } from "@signpost/gcp-kms";
 *
 * const cryptoKey = "projects/op/locations/europe-west3/keyRings/signing/cryptoKeys/id-token";
 * const enabled = (await listGcpKmsKeyVersions(cryptoKey)).filter(({ state }) => state === "ENABLED");
 * ```
 */
export async function listGcpKmsKeyVersions(
  cryptoKey: string,
  options: ListGcpKmsKeyVersionsOptions = {},
): Promise<readonly GcpKmsKeyVersion[]> {
  assertOptions("options", options, OPTIONS);
  const parent = parseCryptoKey(cryptoKey);
  const deadlineMs = options.deadlineMs === undefined ? 5000 : readMilliseconds("deadlineMs", options.deadlineMs);
  const deadline = {
    deadlineMs,
    signal: readSignal("signal", options.signal),
    message: `not all versions of ${parent} were listed within ${deadlineMs} ms`,
  };
  const connection = await connect(options, parent);
  try {
    const versions = await withinDeadline((signal) => allPages(connection, parent, deadlineMs, signal), deadline);
    return versions
      .map((version) => toKeyVersion(version, parent))
      .toSorted((a, b) => Number(versionNumber(a) - versionNumber(b)));
  } finally {
    await connection.close();
  }
}

/**
 * Fetches all pages, with one call for each. The client's own pagination would continue after the caller has given up.
 */
async function allPages(
  connection: Connection,
  cryptoKey: string,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<readonly GcpKmsVersionResponse[]> {
  const until = performance.now() + deadlineMs;
  const versions: GcpKmsVersionResponse[] = [];
  let pageToken: string | undefined;
  do {
    const timeoutMs = Math.max(1, Math.ceil(until - performance.now()));
    const page = await listPage(connection, cryptoKey, pageToken, { timeoutMs, signal });
    versions.push(...page.versions);
    pageToken = page.next;
  } while (pageToken !== undefined);
  return versions;
}

interface Page {
  readonly versions: readonly GcpKmsVersionResponse[];
  /** Token of the next page. */
  readonly next: string | undefined;
}

function listPage(
  connection: Connection,
  cryptoKey: string,
  pageToken: string | undefined,
  bounds: CallBounds,
): Promise<Page> {
  const request = pageToken === undefined ? { parent: cryptoKey } : { parent: cryptoKey, pageToken };
  const permission = "cloudkms.cryptoKeyVersions.list";
  const subject = { action: "list the versions of", name: cryptoKey, permission };
  return callOnce(connection, subject, bounds, async (client, options): Promise<readonly [Page]> => {
    const [versions, next] = await client.listCryptoKeyVersions(request, { ...options, autoPaginate: false });
    if (!Array.isArray(versions)) throw incomplete(cryptoKey, "cryptoKeyVersions");
    const token = memberOf(next, "pageToken");
    return [{ versions, next: typeof token === "string" && token !== "" ? token : undefined }];
  });
}

function toKeyVersion(version: GcpKmsVersionResponse, parent: string): GcpKmsKeyVersion {
  const name = memberOf(version, "name");
  const state = memberOf(version, "state");
  if (typeof name !== "string" || !isKeyVersionName(name)) throw incomplete(parent, "name");
  const cryptoKey = name.slice(0, name.lastIndexOf("/cryptoKeyVersions/"));
  // If the caller names the project by its number, the result has the service's name, which opens the version.
  if (cryptoKey !== parent && !namesProjectOtherwise(cryptoKey, parent)) {
    throw new SignerError("wrong_key", `asked for the versions of ${parent}, but the service answered with ${name}`);
  }
  if (!isWord(state)) throw incomplete(parent, "state");
  return { keyVersion: name, state: String(state), createTime: momentFrom(memberOf(version, "createTime"), parent) };
}

function momentFrom(timestamp: unknown, parent: string): Date {
  const seconds = memberOf(timestamp, "seconds");
  const nanos = memberOf(timestamp, "nanos") ?? 0;
  const moment = new Date(Number(seconds) * 1000 + Math.trunc(Number(nanos) / 1e6));
  if (seconds === undefined || seconds === null || Number.isNaN(moment.getTime()))
    throw incomplete(parent, "createTime");
  return moment;
}

function incomplete(parent: string, member: string): SignerError {
  return incompleteAnswer(`ListCryptoKeyVersions of ${parent}`, member);
}

function versionNumber({ keyVersion }: GcpKmsKeyVersion): bigint {
  return BigInt(keyVersion.slice(keyVersion.lastIndexOf("/") + 1));
}
