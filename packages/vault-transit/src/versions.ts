import { SignerError, type P256PublicJwk, type ScheduledEntry, type Signer } from "@signpost/core";
import {
  assertOptions,
  closedError,
  nameSigner,
  openAdapterSigner,
  openingBounds,
  planOpening,
  readNumber,
  retryOpening,
  withinDeadline,
  type AdapterSignerOptions,
  type CallBounds,
  type OpeningPlan,
  type OptionNames,
} from "@signpost/core/adapter";
import { creationTimeOf, publicKeyOf, refusalOf, versionNumbers, type TransitKey } from "./answers.ts";
import { CONNECTION_OPTIONS, readConnectionOptions, type VaultTransitConnectionOptions } from "./client.ts";
import { connect, type Connection } from "./connection.ts";
import type { KeyName } from "./key-name.ts";
import { canSign, getKey, readKeyName, sign, type VaultTransitSignerOptions } from "./open.ts";
import { datesOf, type VersionDates } from "./version-dates.ts";
import { formatKeyUri } from "./uri.ts";

/** Options of `vaultTransitKeys`. */
export interface VaultTransitKeysOptions
  extends
    VaultTransitConnectionOptions,
    Omit<AdapterSignerOptions, "publicKey">,
    Pick<VaultTransitSignerOptions, "key" | "mount"> {
  /**
   * How long after its creation a version is announced. In this time every replica must have called `refresh()`. Minutes,
   * 0 to 10,080. Default 15.
   */
  readonly pickUpMinutes?: number | undefined;
  /** How long after its announcement a version becomes active, as in `createRotationSchedule`. Hours, 2 to 8784. Default 4. */
  readonly announceHours?: number | undefined;
}

const OPTIONS: OptionNames<VaultTransitKeysOptions> = {
  key: true,
  mount: true,
  ...CONNECTION_OPTIONS,
  pickUpMinutes: true,
  announceHours: true,
  openDeadlineMs: true,
  policy: true,
  signal: true,
};

/**
 * A version, as an entry for `createRotationSchedule` or `createKeySet`. It has a signer, or only a public key if the server
 * does not let this version sign any more.
 */
export type VaultTransitKeyVersion = ScheduledEntry & {
  /** Number of the version. */
  readonly keyVersion: number;
  /** When the server made it. */
  readonly creationTime: Date;
};

/** The versions of a key, with signers that share one login and its connections. */
export interface VaultTransitKeys extends AsyncDisposable {
  /** The versions that the server shows, the oldest first. The same array until `refresh()` found a change. */
  readonly versions: readonly VaultTransitKeyVersion[];
  /**
   * Reads the versions again, in up to three attempts. Resolves with true if `versions` changed. Signers that exist stay open.
   * Rejects with `SignerError`: as `vaultTransitKeys`, `closed`, and `wrong_key` if a version has another public key now.
   */
  refresh(): Promise<boolean>;
  /** Closes every signer, revokes the token of the login, and closes the connections. Can be called again. */
  close(): Promise<void>;
}

/**
 * Reads the versions of a key, and opens a signer for each. The dates of a version follow from the time when the server made
 * it, so all replicas compute the same schedule. A new version (`POST MOUNT/keys/KEY/rotate`) is announced first, and signs
 * `announceHours` later. The key's `auto_rotate_period` must be 0 unless `refresh()` is called regularly. The token needs
 * `read` on `MOUNT/keys/KEY`, and `update` on `MOUNT/sign/KEY/sha2-256`.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another; SignerError
 * `key_not_found`, `key_disabled`, `access_denied`, `unsupported_key`, `integrity`, `invalid_argument`, `aborted`, and
 * `unavailable`, `throttled`, `timeout` after the last attempt or at the deadline.
 * @example
 * ```ts
 * import { createRotationSchedule } from "@signpost/core";
 * import { vaultTransitKeys } from "@signpost/vault-transit";
 *
 * const keys = await vaultTransitKeys({ key: "op", auth: { method: "kubernetes", role: "op" } });
 * const schedule = createRotationSchedule(keys.versions, { maxTokenLifetimeSeconds: 3600 });
 * ```
 */
export async function vaultTransitKeys(options: VaultTransitKeysOptions): Promise<VaultTransitKeys> {
  assertOptions("options", options, OPTIONS);
  const name = readKeyName(options);
  const dates: VersionDates = {
    pickUpMinutes: readNumber("pickUpMinutes", options.pickUpMinutes ?? 15, 0, 10_080),
    announceHours: readNumber("announceHours", options.announceHours ?? 4, 2, 8784),
  };
  const plan = planOpening(options);
  const connection = await connect(readConnectionOptions(options), plan);
  const signers = new Map<number, Signer>();
  let closing: Promise<void> | undefined;

  const signerOf = async (keyVersion: number, publicKey: P256PublicJwk, key: TransitKey): Promise<Signer> => {
    const known = signers.get(keyVersion);
    if (known !== undefined) {
      requireSame(known, publicKey);
      return known;
    }
    const opened = await openVersion(connection, plan, name, { keyVersion, publicKey, notes: key.notes });
    signers.set(keyVersion, opened);
    return opened;
  };
  const list = async (bounds: CallBounds): Promise<readonly VaultTransitKeyVersion[]> => {
    const { key, call } = await getKey(connection, name, bounds);
    const refusal = refusalOf(key, key.latestVersion, call);
    if (refusal !== undefined) throw refusal;
    const found: VaultTransitKeyVersion[] = [];
    for (const keyVersion of versionNumbers(key)) {
      const publicKey = publicKeyOf(key, keyVersion, call);
      const creationTime = creationTimeOf(key, keyVersion, call);
      const signs =
        refusalOf(key, keyVersion, call) === undefined && (await canSign(connection, name, key, keyVersion, bounds));
      const half = signs ? { signer: await signerOf(keyVersion, publicKey, key) } : { publicKey };
      found.push({ keyVersion, creationTime, ...datesOf(creationTime, found.length === 0, dates), ...half });
    }
    return found;
  };
  const closeAll = async (): Promise<void> => {
    await Promise.allSettled([...signers.values()].map((signer) => signer.close()));
    await connection.close();
  };

  let versions: readonly VaultTransitKeyVersion[];
  try {
    versions = await retryOpening(list, plan.bounds);
  } catch (error) {
    await withinDeadline(closeAll, { deadlineMs: CLOSING_MS }).catch(() => undefined);
    throw nameSigner(error, formatKeyUri(name, undefined));
  }
  const laterBounds = openingBounds({ ...options, policy: plan.policy, signal: undefined });
  const refresh = async (): Promise<boolean> => {
    if (closing !== undefined) throw closedError();
    const found = await retryOpening(list, laterBounds).catch((error: unknown) => {
      throw nameSigner(error, formatKeyUri(name, undefined));
    });
    if (describe(found) === describe(versions)) return false;
    versions = found;
    return true;
  };
  let refreshing: Promise<boolean> | undefined;
  const keys: VaultTransitKeys = {
    get versions() {
      return versions;
    },
    refresh: () => {
      refreshing ??= refresh().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },
    close: () => (closing ??= closeAll()),
    [Symbol.asyncDispose]: () => keys.close(),
  };
  return Object.freeze(keys);
}

/** How long a failed opening waits until everything is closed. Milliseconds. */
const CLOSING_MS = 1000;

/** A signer on connections that the set of keys closes. */
function openVersion(
  connection: Connection,
  plan: OpeningPlan,
  name: KeyName,
  { keyVersion, ...opened }: { keyVersion: number; publicKey: P256PublicJwk; notes: readonly string[] },
): Promise<Signer> {
  return openAdapterSigner(
    { ...plan, bounds: { ...plan.bounds, signal: undefined } },
    {
      name: String(keyVersion),
      readKey: async () => ({ ...opened, name: String(keyVersion) }),
      uriOf: () => formatKeyUri(name, keyVersion),
      signDigest: (_name, digest, bounds) => sign(connection, name, keyVersion, digest, bounds),
      close: async () => {},
    },
  );
}

/** A key that was deleted and made again, or restored from a backup, has other versions under the same numbers. */
function requireSame({ uri, publicKey }: Signer, found: P256PublicJwk): void {
  if (publicKey.x === found.x && publicKey.y === found.y) return;
  throw new SignerError("wrong_key", `${uri} has another public key than before: the key was replaced`);
}

/** What makes two lists differ. Public keys are compared where signers are reused. */
function describe(versions: readonly VaultTransitKeyVersion[]): string {
  return JSON.stringify(
    versions.map((version) => [version.keyVersion, "signer" in version, version.announcedFrom, version.activeFrom]),
  );
}
