import { createHash } from "node:crypto";
import { ConfigurationError, SignerError, type GuardedSigner, type GuardPolicy, type Signer } from "@signpost/core";
import {
  assertOptions,
  markPlace,
  nameOpening,
  openAdapterSigner,
  planOpening,
  type AdapterSignerOptions,
  type CallBounds,
  type OpenedKey,
  type OptionNames,
} from "@signpost/core/adapter";
import { publicKeyOf, readKey, readSignature, refusalOf, type TransitKey } from "./answers.ts";
import { callOnce } from "./call.ts";
import { CONNECTION_OPTIONS, readConnectionOptions, type VaultTransitConnectionOptions } from "./client.ts";
import { connect, type Connection } from "./connection.ts";
import { describeCall } from "./errors.ts";
import { parseKey, parseMount, parseVersion, type KeyName } from "./key-name.ts";
import { formatKeyUri } from "./uri.ts";

/** Options of `openVaultTransitSigner`. */
export interface VaultTransitSignerOptions extends VaultTransitConnectionOptions, AdapterSignerOptions {
  /** Name of the key, of the type `ecdsa-p256`. */
  readonly key: string;
  /**
   * Version of the key. 1 to 2,147,483,647. The signer never moves to another one. Default: the latest version, at the time
   * when the signer opens. `signer.uri` names it. Required with `publicKey`, because no call looks it up.
   */
  readonly keyVersion?: number | undefined;
  /** Path of the Transit engine, with one or more segments. Default `transit`. */
  readonly mount?: string | undefined;
}

const OPTIONS: OptionNames<VaultTransitSignerOptions> = {
  key: true,
  keyVersion: true,
  mount: true,
  publicKey: true,
  ...CONNECTION_OPTIONS,
  openDeadlineMs: true,
  policy: true,
  signal: true,
};

/**
 * Opens a signer with one version of a key in a Transit engine of HashiCorp Vault or OpenBao. Its type must be `ecdsa-p256`.
 * The token needs `update` on `MOUNT/sign/KEY/sha2-256`, and `read` on `MOUNT/keys/KEY` unless you pass `publicKey`.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another; EncodingError for a
 * `publicKey` that is not a key; SignerError `key_not_found`, `key_disabled`, `access_denied`, `unsupported_key`, `wrong_key`,
 * `integrity`, `invalid_argument`, `aborted`, and `unavailable`, `throttled`, `timeout` after the last attempt or at the
 * deadline.
 * @example
 * ```ts
 * import { openVaultTransitSigner } from "@signpost/vault-transit";
 *
 * const signer = await openVaultTransitSigner({
 *   address: "https://vault.example:8200",
 *   key: "op",
 *   keyVersion: 1,
 *   auth: { method: "kubernetes", role: "op" },
 * });
 * ```
 */
export function openVaultTransitSigner(
  options: VaultTransitSignerOptions & { readonly policy: false },
): Promise<Signer>;
/** Opens a guarded signer. */
export function openVaultTransitSigner(
  options: VaultTransitSignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
/** Opens a signer, guarded unless `policy` is `false`. */
export function openVaultTransitSigner(options: VaultTransitSignerOptions): Promise<Signer>;
export async function openVaultTransitSigner(options: VaultTransitSignerOptions): Promise<Signer> {
  assertOptions("options", options, OPTIONS);
  const name = readKeyName(options);
  const keyVersion = options.keyVersion === undefined ? undefined : parseVersion("keyVersion", options.keyVersion);
  const plan = planOpening(options);
  if (plan.pinned !== undefined && keyVersion === undefined) {
    throw new ConfigurationError("keyVersion", "expected a version, because with publicKey no call looks it up");
  }
  const settings = readConnectionOptions(options);
  const connection = await connect(settings, plan).catch((error: unknown) => {
    throw nameOpening(error, formatKeyUri(name, keyVersion));
  });
  return openAdapterSigner(plan, {
    name: String(keyVersion ?? LATEST),
    notes: () => connection.notes(),
    status: () => connection.status(),
    readKey: (bounds) => openVersion(connection, name, keyVersion, bounds),
    uriOf: (version) => formatKeyUri(name, version === LATEST ? undefined : Number(version)),
    signDigest: (version, digest, bounds) => sign(connection, name, Number(version), digest, bounds),
    close: () => connection.close(),
  });
}

/** In place of a version, until the key is read. */
const LATEST = "latest";

/** Reads the options that name a key. */
export function readKeyName({ key, mount }: Pick<VaultTransitSignerOptions, "key" | "mount">): KeyName {
  return { key: parseKey("key", key), mount: mount === undefined ? "transit" : parseMount("mount", mount) };
}

async function openVersion(
  connection: Connection,
  name: KeyName,
  wanted: number | undefined,
  bounds: CallBounds,
): Promise<OpenedKey> {
  const { key, call } = await getKey(connection, name, bounds);
  const keyVersion = wanted ?? key.latestVersion;
  const refusal = refusalOf(key, keyVersion, call);
  if (refusal !== undefined) throw refusal;
  const publicKey = publicKeyOf(key, keyVersion, call);
  await proveImported(connection, name, key, keyVersion, bounds);
  return { name: String(keyVersion), publicKey, notes: key.notes };
}

/** Nothing but a signature shows that a key was imported with its public half only. */
async function proveImported(
  connection: Connection,
  name: KeyName,
  { imported }: TransitKey,
  keyVersion: number,
  bounds: CallBounds,
): Promise<void> {
  if (imported) await sign(connection, name, keyVersion, PROBE, bounds);
}

/** Whether a version has a private half. */
export async function canSign(
  connection: Connection,
  name: KeyName,
  key: TransitKey,
  keyVersion: number,
  bounds: CallBounds,
): Promise<boolean> {
  try {
    await proveImported(connection, name, key, keyVersion, bounds);
    return true;
  } catch (error) {
    if (error instanceof SignerError && error.code === "unsupported_key") return false;
    throw error;
  }
}

/** The digest that an imported key signs once, when it is opened. */
const PROBE = createHash("sha256").update("signpost: can this key sign?").digest();

/** Reads a key, with the description of the call for errors. */
export async function getKey(
  connection: Connection,
  { mount, key }: KeyName,
  bounds: CallBounds,
): Promise<{ readonly key: TransitKey; readonly call: string }> {
  const action = `read ${mount}/keys/${key}`;
  const data = await callOnce(connection, action, bounds, { method: "GET", path: `${mount}/keys/${key}` });
  const call = describeCall({ action, address: connection.address, namespace: connection.namespace });
  return { key: readKey(data, call), call };
}

/**
 * Signs with one version. The hash is in the path, so that a policy can forbid the others.
 *
 * Each signature gets its own place, so that `verify: "first"` verifies each. An answer names no key but the one that was
 * asked for. After the key was deleted and made again, or behind the same address another server answers, another key signs
 * under the same name and version.
 */
export async function sign(
  connection: Connection,
  { mount, key }: KeyName,
  keyVersion: number,
  digest: Uint8Array,
  bounds: CallBounds,
): Promise<Uint8Array> {
  const action = `sign with version ${keyVersion} of ${mount}/keys/${key}`;
  const input = Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength).toString("base64");
  const body = { input, prehashed: true, marshaling_algorithm: "asn1", key_version: keyVersion };
  const data = await callOnce(connection, action, bounds, {
    method: "POST",
    path: `${mount}/sign/${key}/sha2-256`,
    body,
    secrets: [input],
  });
  const call = describeCall({ action, address: connection.address, namespace: connection.namespace });
  const signature = readSignature(data, keyVersion, call);
  return markPlace(signature, { uri: formatKeyUri({ mount, key }, keyVersion) });
}
