import type {
  GetPublicKeyCommand,
  GetPublicKeyCommandOutput,
  SignCommand,
  SignCommandOutput,
} from "@aws-sdk/client-kms";
import { ConfigurationError } from "@signpost/core";

/** How one call is ended. A call settles soon after its signal aborts. */
export interface AwsKmsCallOptions {
  /** Aborts when the attempt's time is over, and when the caller aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** What GetPublicKey is asked. */
export interface AwsKmsGetPublicKeyInput {
  /** As the caller gave it: a key id, key ARN, alias name or alias ARN. */
  readonly KeyId: string;
}

/** What Sign is asked. */
export interface AwsKmsSignInput {
  /** Always the key ARN. */
  readonly KeyId: string;
  /** A SHA-256 digest, 32 bytes. */
  readonly Message: Uint8Array;
  /** The message is a digest: KMS does not hash it again. */
  readonly MessageType: "DIGEST";
  /** ES256 by the service's name. */
  readonly SigningAlgorithm: "ECDSA_SHA_256";
}

/** What GetPublicKey answers. Members may be missing or of another type: the adapter checks what it is given. */
export interface AwsKmsGetPublicKeyOutput {
  /** The key ARN. */
  readonly KeyId?: string | undefined;
  /** DER of a SubjectPublicKeyInfo (RFC 5280 section 4.1). */
  readonly PublicKey?: Uint8Array | undefined;
  /** `ECC_NIST_P256`, else the key is refused. */
  readonly KeySpec?: string | undefined;
  /** `SIGN_VERIFY`, else the key is refused. */
  readonly KeyUsage?: string | undefined;
  /** Holds `ECDSA_SHA_256`, else the key is refused. */
  readonly SigningAlgorithms?: readonly string[] | undefined;
}

/** What Sign answers. Members may be missing or of another type: the adapter checks what it is given. */
export interface AwsKmsSignOutput {
  /** The ARN of the key that signed. */
  readonly KeyId?: string | undefined;
  /** DER of an ECDSA-Sig-Value (RFC 3279 section 2.2.3). */
  readonly Signature?: Uint8Array | undefined;
  /** `ECDSA_SHA_256` where it is given. */
  readonly SigningAlgorithm?: string | undefined;
}

/**
 * The two calls of AWS KMS that a signer makes, in the service's own words: what another transport implements to be
 * plugged in. Each call makes one attempt. It rejects with an error whose `name` is the service's error code
 * (`ThrottlingException`), or whose `code` is a system error's (`ECONNRESET`), and, where there was a response, with
 * its status as `$metadata.httpStatusCode`.
 *
 * @example
 * ```ts
 * import { openAwsKmsSigner, type AwsKmsApi } from "@signpost/aws-kms";
 *
 * declare const api: AwsKmsApi;
 * const signer = await openAwsKmsSigner({ key: "alias/op-2026", api });
 * ```
 */
export interface AwsKmsApi {
  /** GetPublicKey, once: when a signer is opened without its public key. */
  getPublicKey(input: AwsKmsGetPublicKeyInput, options: AwsKmsCallOptions): Promise<AwsKmsGetPublicKeyOutput>;
  /** Sign: one call for each signature. */
  sign(input: AwsKmsSignInput, options: AwsKmsCallOptions): Promise<AwsKmsSignOutput>;
}

/**
 * What is used of the SDK's `KMSClient`: give one of yours, made by the installed copy of `@aws-sdk/client-kms` that this
 * package finds as its peer.
 */
export interface AwsKmsClientLike {
  /** Sends a command of the SDK. */
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

/** What is used of the SDK besides its client. */
export interface AwsKmsCommands {
  readonly GetPublicKeyCommand: typeof GetPublicKeyCommand;
  readonly SignCommand: typeof SignCommand;
}

/** The calls over a client of the SDK. */
export function apiFromClient(client: AwsKmsClientLike, commands: AwsKmsCommands): AwsKmsApi {
  assertFits(client, new commands.GetPublicKeyCommand({ KeyId: "alias/none" }));
  // A command of the SDK fits a client of the SDK; the structural type of `send` cannot say so.
  const send = <Output>(command: object, { signal }: AwsKmsCallOptions): Promise<Output> =>
    client.send(command as never, signal === undefined ? {} : { abortSignal: signal }) as Promise<Output>;
  return {
    getPublicKey: (input, options) =>
      send<GetPublicKeyCommandOutput>(new commands.GetPublicKeyCommand({ ...input }), options),
    sign: (input, options) => send<SignCommandOutput>(new commands.SignCommand({ ...input }), options),
  };
}

interface SdkCommand {
  resolveMiddleware(stack: never, config: never, options: object): unknown;
}

/**
 * A command of one version of the SDK does not run on a client of another. Putting the two together, which sends
 * nothing, tells that now and not with the first signature.
 */
function assertFits(client: AwsKmsClientLike, command: SdkCommand): void {
  const { middlewareStack, config } = client as { readonly middlewareStack?: unknown; readonly config?: unknown };
  if (middlewareStack === undefined || config === undefined) return;
  try {
    command.resolveMiddleware(middlewareStack as never, config as never, {});
  } catch (cause) {
    const expected = "expected a KMSClient of the version of @aws-sdk/client-kms that @signpost/aws-kms finds";
    throw new ConfigurationError("client", expected, { cause });
  }
}
