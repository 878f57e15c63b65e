import type {
  GetPublicKeyCommand,
  GetPublicKeyCommandOutput,
  SignCommand,
  SignCommandOutput,
} from "@aws-sdk/client-kms";
import { ConfigurationError } from "@signpost/core";

/** Options of one call. The call must settle soon after its signal aborts. */
export interface AwsKmsCallOptions {
  /** Aborts when the attempt has timed out, and when the caller aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Input of GetPublicKey. */
export interface AwsKmsGetPublicKeyInput {
  /** As in the options: a key id, key ARN, alias name or alias ARN. */
  readonly KeyId: string;
}

/** Input of Sign. */
export interface AwsKmsSignInput {
  /** Always the key ARN. */
  readonly KeyId: string;
  /** A SHA-256 digest, 32 bytes. */
  readonly Message: Uint8Array;
  /** The message is a digest, which KMS does not hash again. */
  readonly MessageType: "DIGEST";
  /** What AWS calls ES256. */
  readonly SigningAlgorithm: "ECDSA_SHA_256";
}

/** Output of GetPublicKey. The adapter checks each member, so members may be missing or have the wrong type. */
export interface AwsKmsGetPublicKeyOutput {
  /** The key ARN. */
  readonly KeyId?: string | undefined;
  /** DER of a SubjectPublicKeyInfo (RFC 5280 section 4.1). */
  readonly PublicKey?: Uint8Array | undefined;
  /** The key is refused unless this is `ECC_NIST_P256`. */
  readonly KeySpec?: string | undefined;
  /** The key is refused unless this is `SIGN_VERIFY`. */
  readonly KeyUsage?: string | undefined;
  /** The key is refused unless this contains `ECDSA_SHA_256`. */
  readonly SigningAlgorithms?: readonly string[] | undefined;
}

/** Output of Sign. The adapter checks each member, so members may be missing or have the wrong type. */
export interface AwsKmsSignOutput {
  /** The ARN of the key that signed. */
  readonly KeyId?: string | undefined;
  /** DER of an ECDSA-Sig-Value (RFC 3279 section 2.2.3). */
  readonly Signature?: Uint8Array | undefined;
  /** `ECDSA_SHA_256`, if present. */
  readonly SigningAlgorithm?: string | undefined;
}

/**
 * The two calls of AWS KMS that a signer makes. Implement this to use another transport than the SDK. Each call makes one
 * attempt. It rejects with an error whose `name` is the service's error code (`ThrottlingException`), or whose `code` is
 * the code of a system error (`ECONNRESET`). If there was a response, `$metadata.httpStatusCode` is its status.
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
  /** GetPublicKey: called when a signer opens without its public key. */
  getPublicKey(input: AwsKmsGetPublicKeyInput, options: AwsKmsCallOptions): Promise<AwsKmsGetPublicKeyOutput>;
  /** Sign: one call for each signature. */
  sign(input: AwsKmsSignInput, options: AwsKmsCallOptions): Promise<AwsKmsSignOutput>;
}

/**
 * The part of the SDK's `KMSClient` that is used. Your client must come from the copy of `@aws-sdk/client-kms` that
 * this package imports.
 */
export interface AwsKmsClientLike {
  /** Sends a command of the SDK. */
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

/** The commands of the SDK that are used. */
export interface AwsKmsCommands {
  readonly GetPublicKeyCommand: typeof GetPublicKeyCommand;
  readonly SignCommand: typeof SignCommand;
}

/** Makes the calls with a client of the SDK. */
export function apiFromClient(client: AwsKmsClientLike, commands: AwsKmsCommands): AwsKmsApi {
  assertFits(client, new commands.GetPublicKeyCommand({ KeyId: "alias/none" }));
  // The structural type of `send` cannot say that it takes the SDK's commands.
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
 * A command of one version of the SDK does not run on a client of another. Combining the two sends nothing, and finds
 * this out before the first signature.
 */
function assertFits(client: AwsKmsClientLike, command: SdkCommand): void {
  const { middlewareStack, config } = client as { readonly middlewareStack?: unknown; readonly config?: unknown };
  if (middlewareStack === undefined || config === undefined) return;
  try {
    command.resolveMiddleware(middlewareStack as never, config as never, {});
  } catch (cause) {
    const expected = "expected a KMSClient from the copy of @aws-sdk/client-kms that @signpost/aws-kms imports";
    throw new ConfigurationError("client", expected, { cause });
  }
}
