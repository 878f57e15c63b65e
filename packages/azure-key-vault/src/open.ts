import { ConfigurationError, type GuardedSigner, type GuardPolicy, type Signer } from "@signpost/core";
import {
  assertOptions,
  encodeBase64url,
  openAdapterSigner,
  planOpening,
  type AdapterSignerOptions,
  type CallBounds,
  type OpenedKey,
  type OptionNames,
  type RemoteBackend,
} from "@signpost/core/adapter";
import { readKey, readSignature, refusalOf, type PublicKeyVersion } from "./answers.ts";
import type { AzureKeyVaultApi } from "./api.ts";
import { callOnce } from "./call.ts";
import { connect, CONNECTION_OPTIONS, readConnectionOptions, type AzureKeyVaultConnectionOptions } from "./client.ts";
import { describeCall } from "./errors.ts";
import { describeKey, readKeyName, type KeyName } from "./key-name.ts";
import { createKidReader, type KidReader } from "./kid.ts";
import { withSharedRate } from "./shared-rate.ts";
import { formatKeyUri } from "./uri.ts";

/** Options of `openAzureKeyVaultSigner`. */
export interface AzureKeyVaultSignerOptions extends AzureKeyVaultConnectionOptions, AdapterSignerOptions {
  /** Name of the key, or its identifier with the vault: `https://NAME.vault.azure.net/keys/KEY[/VERSION]`. */
  readonly key: string;
  /**
   * Version of the key, 32 characters. The signer never moves to another one. Default: the latest version, at the time when
   * the signer opens. `signer.uri` names it. Required with `publicKey`, because no call looks it up.
   */
  readonly keyVersion?: string | undefined;
  /**
   * The vault or Managed HSM: `https://NAME.vault.azure.net`, or its host. Required unless `key` is an identifier.
   */
  readonly vault?: string | undefined;
}

const OPTIONS: OptionNames<AzureKeyVaultSignerOptions> = {
  key: true,
  keyVersion: true,
  vault: true,
  publicKey: true,
  ...CONNECTION_OPTIONS,
  openDeadlineMs: true,
  policy: true,
  signal: true,
};

/**
 * Opens a signer with one version of a key in Azure Key Vault or a Managed HSM: EC or EC-HSM, P-256, with `sign` in its
 * `key_ops`. The caller needs the permissions `keys/sign`, and `keys/read` unless you pass `publicKey`.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another, and if neither a
 * credential nor `@azure/identity` is there; EncodingError for a `publicKey` that is not a key; SignerError `key_not_found`,
 * `key_disabled`, `access_denied`, `unsupported_key`, `wrong_key`, `integrity`, `invalid_argument`, `aborted`, and
 * `unavailable`, `throttled`, `timeout` after the last attempt or at the deadline.
 * @example
 * ```ts
 * import { openAzureKeyVaultSigner, type AzureKeyVaultCredentialLike } from "@signpost/azure-key-vault";
 *
 * declare const credential: AzureKeyVaultCredentialLike; // new ManagedIdentityCredential(), of @azure/identity
 * const vault = "https://op-signing.vault.azure.net";
 * const signer = await openAzureKeyVaultSigner({ vault, key: "id-token", credential });
 * ```
 */
export function openAzureKeyVaultSigner(
  options: AzureKeyVaultSignerOptions & { readonly policy: false },
): Promise<Signer>;
/** Opens a guarded signer. */
export function openAzureKeyVaultSigner(
  options: AzureKeyVaultSignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
/** Opens a signer, guarded unless `policy` is `false`. */
export function openAzureKeyVaultSigner(options: AzureKeyVaultSignerOptions): Promise<Signer>;
export async function openAzureKeyVaultSigner(options: AzureKeyVaultSignerOptions): Promise<Signer> {
  assertOptions("options", options, OPTIONS);
  return openNamedKey(readKeyName(options), options);
}

/** Opens a key whose name was read already. */
export async function openNamedKey(
  name: KeyName,
  options: AzureKeyVaultConnectionOptions & AdapterSignerOptions,
): Promise<Signer> {
  const given = planOpening(options);
  const plan = { ...given, policy: withSharedRate(given.policy, name.vault) };
  if (plan.pinned !== undefined && name.keyVersion === undefined) {
    throw new ConfigurationError("keyVersion", "expected a version, because with publicKey no call looks it up");
  }
  const { api, trouble, close } = await connect(name, readConnectionOptions(options), given);
  const place = { api, name, kids: createKidReader(name.vault, name.key), trouble };
  return openAdapterSigner(plan, {
    name: name.keyVersion ?? LATEST,
    readKey: (bounds) => getKey(place, bounds),
    uriOf: (version) => formatKeyUri({ ...name, keyVersion: version === LATEST ? undefined : version }),
    signDigest: (version, digest, bounds) => sign(place, version, digest, bounds),
    ...healthOf(place),
    close,
  });
}

/** In place of a version, until the key is read. */
const LATEST = "latest";

/** A key, and the calls that reach it. */
export interface Place {
  readonly api: AzureKeyVaultApi;
  readonly name: KeyName;
  readonly kids: KidReader;
  /** A note for the operator while the credential fails. */
  trouble(): string | undefined;
}

/** What `health()` says about the connection. */
export function healthOf({ trouble }: Place): Required<Pick<RemoteBackend, "notes" | "status">> {
  return {
    notes: () => [trouble()].filter((note) => note !== undefined),
    status: () => (trouble() === undefined ? "ready" : "degraded"),
  };
}

/** Reads a version, or the latest one. Refuses a version that cannot sign now. */
async function getKey(place: Place, bounds: CallBounds): Promise<OpenedKey> {
  const version = await readVersion(place, bounds);
  const refusal = refusalOf(version, describeRead(place.name));
  if (refusal !== undefined) throw refusal;
  return { name: version.keyVersion, publicKey: version.publicKey, notes: version.notes };
}

/** Reads a version with its public key, or the latest one. */
export async function readVersion({ api, name, kids }: Place, bounds: CallBounds): Promise<PublicKeyVersion> {
  const { key, keyVersion } = name;
  const { signal } = bounds;
  const call = describeRead(name);
  const answer = await callOnce(call, bounds, () => api.getKey({ key, keyVersion }, { signal }));
  return readKey(answer, keyVersion, kids, call);
}

function describeRead({ vault, key, keyVersion }: KeyName): string {
  return describeCall(`read ${describeKey(key, keyVersion)}`, vault);
}

/** Signs with one version. */
export async function sign(
  { api, name, kids }: Place,
  keyVersion: string,
  digest: Uint8Array,
  bounds: CallBounds,
): Promise<Uint8Array> {
  const { vault, key } = name;
  const { signal } = bounds;
  const call = describeCall(`sign with ${describeKey(key, keyVersion)}`, vault);
  const input = { key, keyVersion, alg: "ES256", value: encodeBase64url(digest) } as const;
  const answer = await callOnce(call, bounds, () => api.sign(input, { signal }));
  return readSignature(answer, keyVersion, kids, call);
}
