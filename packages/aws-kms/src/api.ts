import type { GetPublicKeyCommandOutput, SignCommandOutput } from "@aws-sdk/client-kms";
import { ConfigurationError } from "@signpost/core";
import { loadSdk } from "./load-sdk.ts";

/** How one call is ended. A call settles soon after its signal aborts. */
export interface KmsCallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface KmsGetPublicKeyInput {
  readonly KeyId: string;
}

export interface KmsSignInput {
  /** Always the key ARN. */
  readonly KeyId: string;
  /** A SHA-256 digest, 32 bytes. */
  readonly Message: Uint8Array;
  readonly MessageType: "DIGEST";
  readonly SigningAlgorithm: "ECDSA_SHA_256";
}

/** Members may be missing or of another type: the adapter checks what it is given. */
export interface KmsGetPublicKeyOutput {
  readonly KeyId?: string | undefined;
  /** DER of a SubjectPublicKeyInfo (RFC 5280 section 4.1). */
  readonly PublicKey?: Uint8Array | undefined;
  readonly KeySpec?: string | undefined;
  readonly KeyUsage?: string | undefined;
  readonly SigningAlgorithms?: readonly string[] | undefined;
}

export interface KmsSignOutput {
  readonly KeyId?: string | undefined;
  /** DER of an ECDSA-Sig-Value (RFC 3279 section 2.2.3). */
  readonly Signature?: Uint8Array | undefined;
  readonly SigningAlgorithm?: string | undefined;
}

/**
 * The two calls of AWS KMS that a signer makes, in the service's own words: what another transport implements to be
 * plugged in. Each call makes one attempt. It rejects with an error whose `name` is the service's error code
 * (`ThrottlingException`), or whose `code` is a system error's (`ECONNRESET`), and, where there was a response, with
 * its status as `$metadata.httpStatusCode`.
 *
 * ```ts
 * import { openAwsKmsSigner, type KmsApi } from "@signpost/aws-kms";
 *
 * declare const api: KmsApi;
 * await using signer = await openAwsKmsSigner({ keyId: "alias/op-2026", api });
 * ```
 */
export interface KmsApi {
  getPublicKey(input: KmsGetPublicKeyInput, options: KmsCallOptions): Promise<KmsGetPublicKeyOutput>;
  sign(input: KmsSignInput, options: KmsCallOptions): Promise<KmsSignOutput>;
}

/**
 * What is used of the SDK's `KMSClient`: give one of yours, made by the installed copy of `@aws-sdk/client-kms` that this
 * package finds as its peer.
 */
export interface KmsClientLike {
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

/** The port over the SDK. */
export async function apiFromClient(client: KmsClientLike): Promise<KmsApi> {
  const { GetPublicKeyCommand, SignCommand } = await loadSdk();
  assertFits(client, new GetPublicKeyCommand({ KeyId: "alias/none" }));
  // A command of the SDK fits a client of the SDK; the structural type of `send` cannot say so.
  const send = <Output>(command: object, { signal }: KmsCallOptions): Promise<Output> =>
    client.send(command as never, signal === undefined ? {} : { abortSignal: signal }) as Promise<Output>;
  return {
    getPublicKey: (input, options) => send<GetPublicKeyCommandOutput>(new GetPublicKeyCommand({ ...input }), options),
    sign: (input, options) => send<SignCommandOutput>(new SignCommand({ ...input }), options),
  };
}

interface SdkCommand {
  resolveMiddleware(stack: never, config: never, options: object): unknown;
}

/**
 * A command of one version of the SDK does not run on a client of another. Putting the two together, which sends
 * nothing, tells that now and not with the first signature.
 */
function assertFits(client: KmsClientLike, command: SdkCommand): void {
  const { middlewareStack, config } = client as { readonly middlewareStack?: unknown; readonly config?: unknown };
  if (middlewareStack === undefined || config === undefined) return;
  try {
    command.resolveMiddleware(middlewareStack as never, config as never, {});
  } catch (cause) {
    const expected = "expected a KMSClient of the version of @aws-sdk/client-kms that @signpost/aws-kms finds";
    throw new ConfigurationError("client", expected, { cause });
  }
}
