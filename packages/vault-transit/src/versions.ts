import { SignerError, type P256PublicJwk, type ScheduledEntry, type Signer } from "@signpost/core";
import {
  assertOptions,
  createVersionedKeys,
  nameOpening,
  openAdapterSigner,
  planOpening,
  readNumber,
  retryOpening,
  versionDates,
  withinDeadline,
  type AdapterSignerOptions,
  type CallBounds,
  type OpeningBounds,
  type OpeningPlan,
  type OptionNames,
  type VersionDelays,
} from "@signpost/core/adapter";
import { creationTimeOf, publicKeyOf, refusalOf, versionNumbers } from "./answers.ts";
import { CONNECTION_OPTIONS, readConnectionOptions, type VaultTransitConnectionOptions } from "./client.ts";
import { connect, type Connection } from "./connection.ts";
import type { KeyName } from "./key-name.ts";
import { canSign, getKey, readKeyName, sign, type VaultTransitSignerOptions } from "./open.ts";
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
  /** When the server created it. */
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
 * Reads the versions of a key, and opens a signer for each. The dates of a version follow from the time when the server created
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
  const delays: VersionDelays = {
    pickUpMinutes: readNumber("pickUpMinutes", options.pickUpMinutes ?? 15, 0, 10_080),
    announceHours: readNumber("announceHours", options.announceHours ?? 4, 2, 8784),
  };
  const plan = planOpening(options);
  const named = (error: unknown): never => {
    throw nameOpening(error, formatKeyUri(name, undefined));
  };
  const connection = await connect(readConnectionOptions(options), plan).catch(named);
  const signers = createSigners(connection, plan, name);
  const list = (bounds: OpeningBounds): Promise<readonly VaultTransitKeyVersion[]> =>
    retryOpening((call) => listVersions(connection, name, delays, signers, call), bounds).catch(named);
  const closeAll = async (): Promise<void> => {
    await signers.close();
    await connection.close();
  };
  try {
    const versions = await list(plan.bounds);
    return createVersionedKeys(versions, (signal) => list({ ...plan.bounds, signal }), closeAll);
  } catch (error) {
    await withinDeadline(closeAll, { deadlineMs: CLOSING_MS }).catch(() => undefined);
    throw error;
  }
}

async function listVersions(
  connection: Connection,
  name: KeyName,
  delays: VersionDelays,
  signers: Signers,
  bounds: CallBounds,
): Promise<readonly VaultTransitKeyVersion[]> {
  const { key, call } = await getKey(connection, name, bounds);
  const refusal = refusalOf(key, key.latestVersion, call);
  if (refusal !== undefined) throw refusal;
  const found: VaultTransitKeyVersion[] = [];
  for (const keyVersion of versionNumbers(key)) {
    const publicKey = publicKeyOf(key, keyVersion, call);
    const creationTime = creationTimeOf(key, keyVersion, call);
    const isAllowed = refusalOf(key, keyVersion, call) === undefined;
    const signs = isAllowed && (signers.has(keyVersion) || (await canSign(connection, name, key, keyVersion, bounds)));
    const half = signs ? { signer: await signers.open({ keyVersion, publicKey, notes: key.notes }) } : { publicKey };
    found.push({ keyVersion, creationTime, ...versionDates(creationTime, found.length === 0, delays), ...half });
  }
  return found;
}

/** The signers of the versions, each opened once. */
interface Signers {
  has(keyVersion: number): boolean;
  open(version: OpenVersion): Promise<Signer>;
  close(): Promise<void>;
}

interface OpenVersion {
  readonly keyVersion: number;
  readonly publicKey: P256PublicJwk;
  readonly notes: readonly string[];
}

function createSigners(connection: Connection, plan: OpeningPlan, name: KeyName): Signers {
  const signers = new Map<number, Signer>();
  return {
    has: (keyVersion) => signers.has(keyVersion),
    open: async (version) => {
      const known = signers.get(version.keyVersion);
      if (known !== undefined) {
        requireSame(known, version.publicKey);
        return known;
      }
      const opened = await openVersion(connection, plan, name, version);
      signers.set(version.keyVersion, opened);
      return opened;
    },
    close: async () => {
      await Promise.allSettled([...signers.values()].map((signer) => signer.close()));
    },
  };
}

/** How long a failed opening waits until everything is closed. Milliseconds. */
const CLOSING_MS = 1000;

/** A signer on connections that the set of keys closes. */
function openVersion(
  connection: Connection,
  plan: OpeningPlan,
  name: KeyName,
  { keyVersion, ...opened }: OpenVersion,
): Promise<Signer> {
  return openAdapterSigner(
    // The caller's signal only ends the opening of the set.
    { ...plan, bounds: { ...plan.bounds, signal: undefined } },
    {
      name: String(keyVersion),
      notes: () => connection.notes(),
      status: () => connection.status(),
      readKey: async () => ({ ...opened, name: String(keyVersion) }),
      uriOf: () => formatKeyUri(name, keyVersion),
      signDigest: (_name, digest, bounds) => sign(connection, name, keyVersion, digest, bounds),
      close: async () => {},
    },
  );
}

/** A key that was deleted and created again, or restored from a backup, has other versions under the same numbers. */
function requireSame({ uri, publicKey }: Signer, found: P256PublicJwk): void {
  if (publicKey.x === found.x && publicKey.y === found.y) return;
  throw new SignerError("wrong_key", `${uri} has another public key than before: the key was replaced`);
}
