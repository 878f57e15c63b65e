import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import {
  guardSigner,
  jwkThumbprint,
  spkiToJwk,
  type GuardedSigner,
  type GuardPolicy,
  type Signer,
} from "@signpost/core";
import { createSigner } from "@signpost/core/adapter";
import { createDigestSigner } from "./digest-signer.ts";
import { privateKeyObject } from "./private-key.ts";

export interface LocalSignerOptions {
  /**
   * A P-256 private key as KeyObject, JWK or PEM (PKCS#8 or SEC1, not encrypted). Default: a new key that
   * is gone with the process.
   */
  readonly privateKey?: KeyObject | JsonWebKey | string | undefined;
  /** Queue, attempts and deadline; `false` opens the bare signer. */
  readonly policy?: GuardPolicy | false | undefined;
}

/**
 * Opens a signer whose key lives in this process: for development and tests, and the adapter to read first.
 *
 * ```ts
 * import { openLocalSigner } from "@signpost/local";
 *
 * await using signer = await openLocalSigner();
 * ```
 *
 * @throws SignerError `unsupported_key` for a key that is not on P-256; ConfigurationError for anything that
 * is no private key.
 */
export function openLocalSigner(options: LocalSignerOptions & { readonly policy: false }): Promise<Signer>;
export function openLocalSigner(
  options?: LocalSignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
export function openLocalSigner(options?: LocalSignerOptions): Promise<Signer>;
export async function openLocalSigner({ privateKey, policy }: LocalSignerOptions = {}): Promise<Signer> {
  return openKey(privateKeyObject(privateKey), undefined, policy);
}

/** `uri` defaults to one that names the key by its thumbprint. */
export function openKey(key: KeyObject, uri: string | undefined, policy: GuardPolicy | false | undefined): Signer {
  const publicKey = spkiToJwk(createPublicKey(key).export({ type: "spki", format: "der" }));
  const signDigest = createDigestSigner(key);
  const signer = createSigner({
    uri: uri ?? `local:#${jwkThumbprint(publicKey)}`,
    publicKey,
    signDigest: (digest, { signingInput }) => signDigest(digest, signingInput),
    close: async () => {},
  });
  return policy === false ? signer : guardSigner(signer, policy);
}
