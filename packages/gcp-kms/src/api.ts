// The few calls of `@google-cloud/kms` that we use, as types: 5.7 and 6 fit both, and so does anything else
// that answers in this shape.

import type { CallBounds } from "@signpost/core/adapter";
import { credentialsError } from "./errors.ts";

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

/** A client whose next call goes to the service at once. */
export interface ReadyClient {
  readonly client: GcpKmsClientLike;
  callOptions(bounds: CallBounds): GcpKmsCallOptions;
}

/**
 * Finds credentials before a call is made, and makes no call when there are none. Left to itself the client fails in
 * two ways that no caller can catch, and each ends the process:
 *
 * - It starts `initialize()` inside each call, and rethrows its failure out of reach.
 * - Over REST it asks for the token inside the call. When the call ends meanwhile, by its signal or its timeout,
 *   node-fetch 3 destroys a request body that has no listener yet.
 */
export async function makeReady(client: GcpKmsClientLike): Promise<ReadyClient> {
  try {
    const stub = await client.initialize();
    if (!isRestStub(stub)) return { client, callOptions: grpcOptions };
    // From the client's cache, unless it is about to expire.
    await client.auth?.getRequestHeaders();
    return { client, callOptions: restOptions };
  } catch (error) {
    throw credentialsError(error);
  }
}

// A stub of grpc-js has a channel; that of REST is a plain object of functions.
function isRestStub(stub: unknown): boolean {
  return typeof stub === "object" && stub !== null && !("getChannel" in stub);
}

/** Ours is over first, and says so in our words. The client's own ends a call that does not hear the signal, in 5.x. */
const GRPC_GRACE_MS = 100;

function grpcOptions({ timeoutMs, signal }: CallBounds): GcpKmsCallOptions {
  return { timeout: timeoutMs + GRPC_GRACE_MS, retry: null, signal };
}

/** Time for the client to begin, on the busiest machine. The caller does not wait for it. */
const REST_GRACE_MS = 10_000;

/** Over REST nothing ends a call before it has surely begun: its own timeout does, some time after ours. */
function restOptions({ timeoutMs }: CallBounds): GcpKmsCallOptions {
  return { timeout: timeoutMs + REST_GRACE_MS, retry: null };
}
