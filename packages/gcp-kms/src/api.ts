// The few calls of `@google-cloud/kms` that we use, as types: 5.7 and 6 fit both, and so does anything else
// that answers in this shape.

/** Given with each call. `retry: null` makes it one attempt: the client's own default goes on for ten minutes. */
export interface GcpKmsCallOptions {
  readonly timeout: number;
  readonly retry: null;
  /** Given over gRPC. Ends the call in 6.x; ignored in 5.x. */
  readonly signal?: AbortSignal;
}

/** A wrapped 64-bit number. Over both transports the client gives it as a decimal string. */
export interface GcpKmsChecksum {
  readonly value?: number | string | { toString(): string } | null | undefined;
}

export interface GcpKmsPublicKeyResponse {
  readonly name?: string | null | undefined;
  readonly algorithm?: string | number | null | undefined;
  readonly pem?: string | null | undefined;
  readonly pemCrc32c?: GcpKmsChecksum | null | undefined;
  readonly protectionLevel?: string | number | null | undefined;
}

export interface GcpKmsSignResponse {
  readonly name?: string | null | undefined;
  readonly signature?: Uint8Array | string | null | undefined;
  readonly signatureCrc32c?: GcpKmsChecksum | null | undefined;
  readonly verifiedDigestCrc32c?: boolean | null | undefined;
}

export interface GcpKmsVersionResponse {
  readonly name?: string | null | undefined;
  readonly state?: string | number | null | undefined;
  readonly algorithm?: string | number | null | undefined;
  readonly createTime?:
    | {
        readonly seconds?: number | string | { toString(): string } | null | undefined;
        readonly nanos?: number | null | undefined;
      }
    | null
    | undefined;
}

export interface GcpKmsSignRequest {
  readonly name: string;
  readonly digest: { readonly sha256: Uint8Array };
  readonly digestCrc32c: { readonly value: number };
}

/** What this package needs of a `KeyManagementServiceClient`. */
export interface GcpKmsClientLike {
  /**
   * Finds credentials and makes the stub, with which it resolves. Called before every call, since it is cheap once
   * it has succeeded.
   */
  initialize(): Promise<unknown>;
  /** Asked for an access token before each call over REST. */
  readonly auth?: { getRequestHeaders(): Promise<unknown> } | undefined;
  getPublicKey(
    request: { readonly name: string },
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsPublicKeyResponse, ...unknown[]]>;
  asymmetricSign(
    request: GcpKmsSignRequest,
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsSignResponse, ...unknown[]]>;
  getCryptoKeyVersion(
    request: { readonly name: string },
    options: GcpKmsCallOptions,
  ): Promise<readonly [GcpKmsVersionResponse, ...unknown[]]>;
  /** One page, and the request for the next one if there is any. */
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
  close(): Promise<unknown>;
}
