// The few calls of `@google-cloud/kms` that we use, as types: 5.7 and 6 fit both, and so does anything else
// that answers in this shape.

/** Given with each call. */
export interface GcpKmsCallOptions {
  /** Bound of the call. Whole milliseconds. */
  readonly timeout: number;
  /** Makes it one attempt: the client's own default goes on for ten minutes. */
  readonly retry: null;
  /** Given over gRPC. Ends the call in 6.x; ignored in 5.x. */
  readonly signal?: AbortSignal;
}

/** A wrapped 64-bit number. */
export interface GcpKmsChecksum {
  /** CRC32C of another member's bytes. Over both transports the client gives it as a decimal string. */
  readonly value?: number | string | { toString(): string } | null | undefined;
}

/** What GetPublicKey answers. Members may be missing or of another type: the adapter checks what it is given. */
export interface GcpKmsPublicKeyResponse {
  /** Resource name of the version. */
  readonly name?: string | null | undefined;
  /** `EC_SIGN_P256_SHA256`, else the version is refused. */
  readonly algorithm?: string | number | null | undefined;
  /** SPKI PEM. */
  readonly pem?: string | null | undefined;
  /** Of the PEM's bytes. */
  readonly pemCrc32c?: GcpKmsChecksum | null | undefined;
  /** `SOFTWARE`, `HSM`, … */
  readonly protectionLevel?: string | number | null | undefined;
}

/** What AsymmetricSign answers. Members may be missing or of another type: the adapter checks what it is given. */
export interface GcpKmsSignResponse {
  /** Resource name of the version that signed. */
  readonly name?: string | null | undefined;
  /** DER of an ECDSA-Sig-Value (RFC 3279 section 2.2.3). */
  readonly signature?: Uint8Array | string | null | undefined;
  /** Of the signature's bytes. */
  readonly signatureCrc32c?: GcpKmsChecksum | null | undefined;
  /** Whether the service checked the digest that it received by the checksum that was sent. */
  readonly verifiedDigestCrc32c?: boolean | null | undefined;
}

/** A version, as GetCryptoKeyVersion and ListCryptoKeyVersions answer. */
export interface GcpKmsVersionResponse {
  /** Resource name. */
  readonly name?: string | null | undefined;
  /** `ENABLED`, `DISABLED`, … */
  readonly state?: string | number | null | undefined;
  /** `EC_SIGN_P256_SHA256`, … */
  readonly algorithm?: string | number | null | undefined;
  /** When the version was made, since 1970. */
  readonly createTime?:
    | {
        readonly seconds?: number | string | { toString(): string } | null | undefined;
        readonly nanos?: number | null | undefined;
      }
    | null
    | undefined;
}

/** What AsymmetricSign is asked. */
export interface GcpKmsSignRequest {
  /** Resource name of the version. */
  readonly name: string;
  /** A SHA-256 digest, 32 bytes. */
  readonly digest: { readonly sha256: Uint8Array };
  /** Of the digest's bytes. */
  readonly digestCrc32c: { readonly value: number };
}

/** What is used of a `KeyManagementServiceClient`. */
export interface GcpKmsClientLike {
  /**
   * Finds credentials and makes the stub, with which it resolves. Called before every call, since it is cheap once
   * it has succeeded.
   */
  initialize(): Promise<unknown>;
  /** Asked for an access token before each call over REST. */
  readonly auth?: { getRequestHeaders(): Promise<unknown> } | undefined;
  /** GetPublicKey: when a signer is opened without its public key. */
  getPublicKey(
    request: { readonly name: string },
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsPublicKeyResponse, ...unknown[]]>;
  /** AsymmetricSign: one call for each signature. */
  asymmetricSign(
    request: GcpKmsSignRequest,
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsSignResponse, ...unknown[]]>;
  /** GetCryptoKeyVersion: where a refusal does not say why. */
  getCryptoKeyVersion(
    request: { readonly name: string },
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsVersionResponse, ...unknown[]]>;
  /** ListCryptoKeyVersions: one page, and the request for the next one if there is any. */
  listCryptoKeyVersions(
    request: { readonly parent: string; readonly pageToken?: string },
    options: GcpKmsCallOptions & { readonly autoPaginate: false },
  ): Promise<
    readonly [
      versions: readonly GcpKmsVersionResponse[],
      next?: { readonly pageToken?: string | null | undefined } | null | undefined,
      ...rest: unknown[],
    ]
  >;
  /** Ends the client. Called only for one that a signer made for itself. */
  close(): Promise<unknown>;
}
