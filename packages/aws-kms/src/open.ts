import { ConfigurationError, type GuardedSigner, type GuardPolicy, type Signer } from "@signpost/core";
import {
  assertOptions,
  nameOpening,
  openAdapterSigner,
  planOpening,
  type AdapterSignerOptions,
  type CallBounds,
  type OpenedKey,
  type OptionNames,
} from "@signpost/core/adapter";
import { readPublicKey, readSignature } from "./answers.ts";
import type { AwsKmsApi } from "./api.ts";
import { callOnce } from "./call.ts";
import { connect, CONNECTION_OPTIONS, readConnectionOptions, type AwsKmsConnectionOptions } from "./client.ts";
import { isBeingCreated, type CallTarget } from "./errors.ts";
import { parseKeyName, regionIn, type KeyName } from "./key-name.ts";
import { formatKeyUri } from "./uri.ts";

/** Options of `openAwsKmsSigner`. */
export interface AwsKmsSignerOptions extends AwsKmsConnectionOptions, AdapterSignerOptions {
  /**
   * Key id, key ARN, `alias/NAME` or alias ARN, with KMS's upper and lower case. An alias is resolved once, when the
   * signer opens. With `publicKey` this must be the key ARN, because no call looks it up.
   */
  readonly key: string;
}

const OPTIONS: OptionNames<AwsKmsSignerOptions> = {
  key: true,
  publicKey: true,
  ...CONNECTION_OPTIONS,
  openDeadlineMs: true,
  policy: true,
  signal: true,
};

/**
 * Opens a signer with one key of AWS KMS: spec ECC_NIST_P256, usage SIGN_VERIFY. Needs `kms:Sign`, and
 * `kms:GetPublicKey` unless you pass `publicKey`.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another; EncodingError for a
 * `publicKey` that is not a key; SignerError `key_not_found`, `key_disabled`, `access_denied`, `unsupported_key`, `wrong_key`,
 * `integrity`, `invalid_argument`, `aborted`, and `unavailable`, `throttled`, `timeout` after the last attempt or at the
 * deadline.
 * @example
 * ```ts
 * import { openAwsKmsSigner } from "@signpost/aws-kms";
 *
 * const signer = await openAwsKmsSigner({ key: "alias/op-2026", region: "eu-west-1" });
 * ```
 */
export function openAwsKmsSigner(options: AwsKmsSignerOptions & { readonly policy: false }): Promise<Signer>;
/** Opens a guarded signer. */
export function openAwsKmsSigner(
  options: AwsKmsSignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
/** Opens a signer, guarded unless `policy` is `false`. */
export function openAwsKmsSigner(options: AwsKmsSignerOptions): Promise<Signer>;
export async function openAwsKmsSigner(options: AwsKmsSignerOptions): Promise<Signer> {
  assertOptions("options", options, OPTIONS);
  const { key } = options;
  const name = parseKeyName("key", key);
  const plan = planOpening(options);
  if (plan.pinned !== undefined && name.kind !== "key-arn") {
    throw new ConfigurationError("key", `expected the key ARN, because with publicKey no call looks it up, got ${key}`);
  }
  const given = { ...readConnectionOptions(options), region: regionOf(name, options.region) };
  const { api, region, endpoint, notes, close } = await connect(options, given, plan).catch((error: unknown) => {
    throw nameOpening(error, formatKeyUri(key, given.endpoint, given.region));
  });
  const target = { key, region };
  return openAdapterSigner(plan, {
    name: key,
    notes,
    readKey: (bounds) => getPublicKey(api, target, bounds),
    isPending: isBeingCreated,
    uriOf: (named) => formatKeyUri(named, endpoint, region),
    signDigest: (keyArn, digest, bounds) => sign(api, { ...target, keyArn }, digest, bounds),
    close,
  });
}

function regionOf(name: KeyName, given: string | undefined): string | undefined {
  const keyRegion = regionIn(name);
  if (given === undefined || keyRegion === undefined || given === keyRegion) return given ?? keyRegion;
  throw new ConfigurationError("region", `expected ${keyRegion}, the Region in key, got ${given}`);
}

async function getPublicKey(api: AwsKmsApi, target: CallTarget, bounds: CallBounds): Promise<OpenedKey> {
  const input = { KeyId: target.key };
  const { signal } = bounds;
  const answer = await callOnce("kms:GetPublicKey", target, bounds, () => api.getPublicKey(input, { signal }));
  return readPublicKey(answer, target);
}

async function sign(
  api: AwsKmsApi,
  target: CallTarget & { readonly keyArn: string },
  digest: Uint8Array,
  bounds: CallBounds,
): Promise<Uint8Array> {
  const { signal } = bounds;
  const { keyArn } = target;
  const input = { KeyId: keyArn, Message: digest, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
  const answer = await callOnce("kms:Sign", target, bounds, () => api.sign(input, { signal }));
  return readSignature(answer, keyArn, target);
}
