import { createPublicKey, type KeyObject } from "node:crypto";
import { spkiToJwk, type GuardedSigner, type GuardPolicy, type Signer, type SignOptions } from "@signpost/core";
import { assertOptions, createAdapterSigner, readPolicy, type OptionNames } from "@signpost/core/adapter";
import { createDigestSigner } from "./digest-signer.ts";
import { privateKeyObject, type PrivateJwkInput } from "./private-key.ts";
import { formatKeyUri } from "./uri.ts";

/** Options of `openLocalSigner`. */
export interface LocalSignerOptions {
  /**
   * A P-256 private key as KeyObject, JWK or PEM (PKCS#8 or SEC1, not encrypted). Default: a new key that exists only in
   * this process.
   */
  readonly privateKey?: KeyObject | PrivateJwkInput | string | undefined;
  /** Queue, attempts and deadline of each signature. `false` opens the bare signer. Default: the guard's defaults. */
  readonly policy?: GuardPolicy | false | undefined;
}

/** The calls of these signers must not be hedged. */
export const HEDGING = {
  refusesHedging: "a key in this process would only sign twice, and a started signature cannot be aborted",
} as const;

const OPTIONS: OptionNames<LocalSignerOptions> = { privateKey: true, policy: true };

/**
 * Opens a signer with a key in this process, for development and tests. If you want to write an adapter, read this one
 * first.
 *
 * @throws ConfigurationError for an option that is unknown or out of bounds, and for anything that is not a private key;
 * SignerError `unsupported_key` for a key that is not on P-256.
 * @example
 * ```ts
 * import { openLocalSigner } from "@signpost/local";
 *
 * const signer = await openLocalSigner();
 * ```
 */
export function openLocalSigner(options: LocalSignerOptions & { readonly policy: false }): Promise<Signer>;
/** Opens a guarded signer. */
export function openLocalSigner(
  options?: LocalSignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
/** Guarded unless `policy` is `false`. */
export function openLocalSigner(options?: LocalSignerOptions): Promise<Signer>;
export async function openLocalSigner(options: LocalSignerOptions = {}): Promise<Signer> {
  assertOptions("options", options, OPTIONS);
  const policy = readPolicy(options.policy, HEDGING);
  return openKey(privateKeyObject(options.privateKey), undefined, policy);
}

/** The default `uri` names the key by its thumbprint. */
export function openKey(key: KeyObject, uri: string | undefined, policy: GuardPolicy | false | undefined): Signer {
  const publicKey = spkiToJwk(createPublicKey(key).export({ type: "spki", format: "der" }));
  const signDigest = createDigestSigner(key);
  const backend = {
    ...HEDGING,
    uri: uri ?? formatKeyUri(publicKey),
    publicKey,
    spreadsOptions: false,
    signDigest: (digest: Uint8Array, { signingInput }: SignOptions) => signDigest(digest, signingInput),
    close: async () => {},
  };
  return createAdapterSigner(backend, policy);
}
