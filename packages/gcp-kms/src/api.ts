// Types for the few calls of `@google-cloud/kms` that are used. Versions 5.7 and 6 both fit, and so does any other
// client with these calls.

/** Options of each call. */
export interface GcpKmsCallOptions {
  /** Time limit of the call. Integer milliseconds. */
  readonly timeout: number;
  /** Makes the call a single attempt. By default, the client retries for ten minutes. */
  readonly retry: null;
  /** Ends the call, if the client's stub is neither one of grpc-js nor one for REST. */
  readonly signal?: AbortSignal;
  /** Over gRPC, google-gax passes these `options` to grpc-js. The interceptor cancels the call with the signal. */
  readonly otherArgs?: { readonly options: { readonly interceptors: readonly [GcpKmsInterceptor] } };
}

/** A started call of grpc-js. */
export interface GcpKmsGrpcCall {
  /** Ends the call with this status. */
  cancelWithStatus(status: number, details: string): void;
}

/** An interceptor of grpc-js: it starts the call, and returns it. */
export type GcpKmsInterceptor = (options: object, start: (options: object) => GcpKmsGrpcCall) => GcpKmsGrpcCall;

/** A wrapped 64-bit number. */
export interface GcpKmsChecksum {
  /** CRC32C of another member's bytes. With both transports, the client returns it as a decimal string. */
  readonly value?: number | string | { toString(): string } | null | undefined;
}

/** Output of GetPublicKey. The adapter checks each member, so members may be missing or have the wrong type. */
export interface GcpKmsPublicKeyResponse {
  /** Resource name of the version. */
  readonly name?: string | null | undefined;
  /** The version is refused unless this is `EC_SIGN_P256_SHA256`. */
  readonly algorithm?: string | number | null | undefined;
  /** SPKI PEM. */
  readonly pem?: string | null | undefined;
  /** Checksum of the PEM's bytes. */
  readonly pemCrc32c?: GcpKmsChecksum | null | undefined;
  /** `SOFTWARE`, `HSM`, … */
  readonly protectionLevel?: string | number | null | undefined;
}

/** Output of AsymmetricSign. The adapter checks each member, so members may be missing or have the wrong type. */
export interface GcpKmsSignResponse {
  /** Resource name of the version that signed. */
  readonly name?: string | null | undefined;
  /** DER of an ECDSA-Sig-Value (RFC 3279 section 2.2.3). */
  readonly signature?: Uint8Array | string | null | undefined;
  /** Checksum of the signature's bytes. */
  readonly signatureCrc32c?: GcpKmsChecksum | null | undefined;
  /** Whether the service checked the digest with the checksum that was sent. */
  readonly verifiedDigestCrc32c?: boolean | null | undefined;
}

/** A version, as GetCryptoKeyVersion and ListCryptoKeyVersions return it. */
export interface GcpKmsVersionResponse {
  /** Resource name. */
  readonly name?: string | null | undefined;
  /** `ENABLED`, `DISABLED`, … */
  readonly state?: string | number | null | undefined;
  /** `EC_SIGN_P256_SHA256`, … */
  readonly algorithm?: string | number | null | undefined;
  /** When the version was created, counted from 1970. */
  readonly createTime?:
    | {
        readonly seconds?: number | string | { toString(): string } | null | undefined;
        readonly nanos?: number | null | undefined;
      }
    | null
    | undefined;
}

/** Input of AsymmetricSign. */
export interface GcpKmsSignRequest {
  /** Resource name of the version. */
  readonly name: string;
  /** A SHA-256 digest, 32 bytes. */
  readonly digest: { readonly sha256: Uint8Array };
  /** Checksum of the digest's bytes. */
  readonly digestCrc32c: { readonly value: number };
}

/** The part of a `KeyManagementServiceClient` that is used. */
export interface GcpKmsClientLike {
  /**
   * Finds credentials, makes the stub and resolves with it. It is called before every other call, because it is cheap
   * after it has succeeded.
   */
  initialize(): Promise<unknown>;
  /** Called for an access token before each call over REST. */
  readonly auth?: { getRequestHeaders(): Promise<unknown> } | undefined;
  /** GetPublicKey: called when a signer opens without its public key. */
  getPublicKey(
    request: { readonly name: string },
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsPublicKeyResponse, ...unknown[]]>;
  /** AsymmetricSign: one call for each signature. */
  asymmetricSign(
    request: GcpKmsSignRequest,
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsSignResponse, ...unknown[]]>;
  /** GetCryptoKeyVersion: called when a refusal does not say why. */
  getCryptoKeyVersion(
    request: { readonly name: string },
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsVersionResponse, ...unknown[]]>;
  /** ListCryptoKeyVersions: returns one page, and the request for the next page if there is one. */
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
  /** Closes the client. It is called only for a client that the signer made. */
  close(): Promise<unknown>;
}
