import { ConfigurationError, SignerError, type ScheduledEntry } from "@signpost/core";
import {
  assertOptions,
  createVersionedKeys,
  nameOpening,
  planOpening,
  readNumber,
  retryOpening,
  versionDates,
  withinDeadline,
  type AdapterSignerOptions,
  type CallBounds,
  type OpeningBounds,
  type OptionNames,
  type VersionDelays,
} from "@signpost/core/adapter";
import { connect, CONNECTION_OPTIONS, readConnectionOptions, type AzureKeyVaultConnectionOptions } from "./client.ts";
import { describeCall } from "./errors.ts";
import { readKeyName } from "./key-name.ts";
import { createKidReader } from "./kid.ts";
import { listVersions, type ListedVersion } from "./list-versions.ts";
import type { AzureKeyVaultSignerOptions, Place } from "./open.ts";
import { withSharedRate } from "./shared-rate.ts";
import { formatKeyUri } from "./uri.ts";
import { createVersionHalves, type VersionHalf, type VersionHalves } from "./version-halves.ts";

/** Options of `azureKeyVaultKeys`. */
export interface AzureKeyVaultKeysOptions
  extends
    AzureKeyVaultConnectionOptions,
    Omit<AdapterSignerOptions, "publicKey">,
    Pick<AzureKeyVaultSignerOptions, "vault"> {
  /** Name of the key, or its identifier without a version: `https://NAME.vault.azure.net/keys/KEY`. */
  readonly key: string;
  /**
   * How long after its creation a version is announced. In this time every replica must have called `refresh()`. Minutes,
   * 0 to 10,080. Default 15.
   */
  readonly pickUpMinutes?: number | undefined;
  /** How long after its announcement a version becomes active, as in `createRotationSchedule`. Hours, 2 to 8784. Default 4. */
  readonly announceHours?: number | undefined;
}

const OPTIONS: OptionNames<AzureKeyVaultKeysOptions> = {
  key: true,
  vault: true,
  ...CONNECTION_OPTIONS,
  pickUpMinutes: true,
  announceHours: true,
  openDeadlineMs: true,
  policy: true,
  signal: true,
};

/**
 * A version, as an entry for `createRotationSchedule` or `createKeySet`. It has a signer, or only a public key if it has
 * expired and the service does not let it sign any more.
 */
export type AzureKeyVaultKeyVersion = ScheduledEntry & {
  /** Version of the key. */
  readonly keyVersion: string;
  /** When the service created it. */
  readonly created: Date;
};

/** The enabled versions of a key, with signers that share a token and the connections. */
export interface AzureKeyVaultKeys extends AsyncDisposable {
  /** The enabled versions, the oldest first. The same array until `refresh()` found a change. */
  readonly versions: readonly AzureKeyVaultKeyVersion[];
  /**
   * Lists the versions again, in up to three attempts. Resolves with true if `versions` changed. Signers that exist stay
   * open. Rejects with `SignerError`: as `azureKeyVaultKeys`, and `closed`.
   */
  refresh(): Promise<boolean>;
  /** Closes every signer and the connections. Can be called again. */
  close(): Promise<void>;
}

/**
 * Lists the enabled versions of a key, and opens a signer for each. The dates of a version follow from the time when the
 * service created it, so all replicas compute the same schedule. A new version, also one by a rotation policy, is announced
 * first, and signs `announceHours` later. The caller needs the permissions `keys/list`, `keys/read` and `keys/sign`.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another; SignerError
 * `key_not_found`, `key_disabled`, `access_denied`, `unsupported_key`, `wrong_key`, `integrity`, `invalid_argument`,
 * `aborted`, and `unavailable`, `throttled`, `timeout` after the last attempt or at the deadline.
 * @example
 * ```ts
 * import { createRotationSchedule } from "@signpost/core";
 * import { azureKeyVaultKeys } from "@signpost/azure-key-vault";
 *
 * const keys = await azureKeyVaultKeys({ key: "https://op-signing.vault.azure.net/keys/id-token" });
 * const schedule = createRotationSchedule(keys.versions, { maxTokenLifetimeSeconds: 3600 });
 * ```
 */
export async function azureKeyVaultKeys(options: AzureKeyVaultKeysOptions): Promise<AzureKeyVaultKeys> {
  assertOptions("options", options, OPTIONS);
  const name = readKeyName({ key: options.key, vault: options.vault });
  if (name.keyVersion !== undefined) throw new ConfigurationError("key", "expected an identifier without a version");
  const delays: VersionDelays = {
    pickUpMinutes: readNumber("pickUpMinutes", options.pickUpMinutes ?? 15, 0, 10_080),
    announceHours: readNumber("announceHours", options.announceHours ?? 4, 2, 8784),
  };
  const given = planOpening(options);
  const { api, trouble, close } = await connect(name, readConnectionOptions(options), given);
  const place: Place = { api, name, kids: createKidReader(name.vault, name.key), trouble };
  const plan = { ...given, policy: withSharedRate(given.policy, name.vault) };
  const halves = createVersionHalves(place, plan);
  const list = (bounds: OpeningBounds): Promise<readonly AzureKeyVaultKeyVersion[]> =>
    retryOpening((call) => readVersions(place, delays, halves, call), bounds).catch((error: unknown) => {
      throw nameOpening(error, formatKeyUri(name));
    });
  const closeAll = async (): Promise<void> => {
    await halves.close();
    await close();
  };
  try {
    const versions = await list(plan.bounds);
    return createVersionedKeys(versions, (signal) => list({ ...plan.bounds, signal }), closeAll);
  } catch (error) {
    await withinDeadline(closeAll, { deadlineMs: CLOSING_MS }).catch(() => undefined);
    throw error;
  }
}

/** How long a failed opening waits until everything is closed. Milliseconds. */
const CLOSING_MS = 1000;

async function readVersions(
  place: Place,
  delays: VersionDelays,
  halves: VersionHalves,
  bounds: CallBounds,
): Promise<readonly AzureKeyVaultKeyVersion[]> {
  const listed = await listVersions(place, bounds);
  const enabled = listed.filter((version) => version.enabled);
  if (enabled.length === 0) throw noVersion(place, listed.length);
  const found = await halves.of(enabled, bounds);
  return found.map((half, index) => entryOf(requireOne(enabled[index]), index === 0, delays, half));
}

function entryOf(
  { keyVersion, created, notBefore }: ListedVersion,
  isFirst: boolean,
  delays: VersionDelays,
  half: VersionHalf,
): AzureKeyVaultKeyVersion {
  const { announcedFrom, activeFrom } = versionDates(created, isFirst, delays);
  // The service lets no version sign before its nbf.
  const isEarly = notBefore !== undefined && activeFrom < notBefore;
  return { keyVersion, created, announcedFrom, activeFrom: isEarly ? notBefore : activeFrom, ...half };
}

function requireOne(version: ListedVersion | undefined): ListedVersion {
  if (version === undefined) throw new TypeError("expected a version");
  return version;
}

function noVersion({ name: { key, vault } }: Place, count: number): SignerError {
  const call = describeCall(`list the versions of ${key}`, vault);
  if (count === 0) return new SignerError("key_not_found", `${call}: there is no such key`);
  return new SignerError("key_disabled", `${call}: none of its ${count} versions is enabled`);
}
