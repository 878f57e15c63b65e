import type { JwkInput, OwnKeys } from "@signpost/core";

/** A public key that only verifies: kube-apiserver signed with its private half before it asked a signer. */
export interface KubernetesLegacyKey {
  /**
   * A JWK, or SPKI PEM such as `sa.pub`: RSA of 2048 to 16,384 bits, or EC P-256, P-384 or P-521. Its `kid` is the one that
   * kube-apiserver gave it: the SHA-256 of the SPKI in base64url.
   */
  readonly publicKey: JwkInput | string;
  /** `true` for a key that kube-apiserver accepts and does not publish, such as that of legacy Secret tokens. Default false. */
  readonly excludeFromDiscovery?: boolean | undefined;
}

/** Options of `createKubernetesSigner`. */
export interface KubernetesSignerOptions {
  /** The `--service-account-issuer` of kube-apiserver. Tokens of another issuer are refused. */
  readonly issuer: string;
  /** The keys that sign. A schedule rotates them. */
  readonly keys: OwnKeys;
  /**
   * The longest lifetime of a token, in seconds: `exp - iat`. kube-apiserver gets it as its maximum. 600 to 315,360,000. A
   * schedule must keep each key published that long.
   */
  readonly maxTokenLifetimeSeconds: number;
  /**
   * How often kube-apiserver fetches the keys, in seconds. So long a revoked key still verifies. Default 60; 1 to 3600. It is
   * fetched earlier if a schedule changes before.
   */
  readonly refreshHintSeconds?: number | undefined;
  /** Keys of tokens that kube-apiserver signed before, and of legacy Secret tokens. Default none. */
  readonly legacyKeys?: readonly KubernetesLegacyKey[] | undefined;
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The parts of a signed token, without its payload. */
export interface SignedToken {
  /** The header in base64url: exactly `alg`, `kid` and `typ`. */
  readonly header: string;
  /** The signature in base64url: 64 bytes r‖s (RFC 7518 section 3.4). */
  readonly signature: string;
  /** The `kid` in the header. */
  readonly keyId: string;
}

/** A key that kube-apiserver verifies tokens with. */
export interface FetchedKey {
  /** The `kid`, 1 to 1024 characters. */
  readonly keyId: string;
  /** SubjectPublicKeyInfo in DER (RFC 5280 section 4.1.2.7). Do not change it. */
  readonly spki: Uint8Array;
  /** Whether kube-apiserver leaves it out of its JWKS. */
  readonly excludeFromDiscovery: boolean;
}

/** The answer to `FetchKeys`. */
export interface FetchedKeys {
  /** The active key is the first one. */
  readonly keys: readonly FetchedKey[];
  /** When the keys last changed. */
  readonly dataTimestamp: Date;
  /** When kube-apiserver should fetch them again, in seconds. 1 to 3600. */
  readonly refreshHintSeconds: number;
}

/** Signs the tokens of a kube-apiserver, and tells it the keys. */
export interface KubernetesSigner {
  /** The issuer of its tokens. */
  readonly issuer: string;
  /** The answer to `Metadata`. Seconds. */
  readonly maxTokenLifetimeSeconds: number;
  /**
   * Signs claims, which are a JSON object in base64url, exactly as they are.
   *
   * Rejects with `KubernetesRequestError` for claims that it refuses, and with `SignerError` if no valid signature was made.
   */
  sign(claims: string, options?: KubernetesSignOptions): Promise<SignedToken>;
  /** The current keys, from memory. */
  fetchKeys(): FetchedKeys;
}

/** Options of one signature. */
export interface KubernetesSignOptions {
  /** Aborts the signing. Default none. */
  readonly signal?: AbortSignal | undefined;
  /** Called before the claims are checked and signed, for an audit log. Not called for what is no JSON object. Default none. */
  readonly onClaims?: ((subject: TokenSubject) => void) | undefined;
}

/** Which token it is. Each is undefined if the claims have no text there. */
export interface TokenSubject {
  /** The id of the token (RFC 7519 section 4.1.7). */
  readonly jti: string | undefined;
  /** The ServiceAccount (RFC 7519 section 4.1.2): `system:serviceaccount:NAMESPACE:NAME`. */
  readonly sub: string | undefined;
}
