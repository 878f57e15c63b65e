import { untilAborted } from "@signpost/core/adapter";
import type { AwsKmsApi, AwsKmsCallOptions, AwsKmsGetPublicKeyOutput, AwsKmsSignOutput } from "../api.ts";
import { isCredentialRefusal } from "../error-table.ts";
import { withSentSecrets } from "../sent-secrets.ts";
import { decodeBase64, readAnswer, type Members } from "./answer.ts";
import type { CredentialStore } from "./credential-store.ts";
import { exchange, type Reply, type Target } from "./exchange.ts";
import { createRequestSigner } from "./sigv4.ts";

/** Where the calls go, and with which credentials. */
export interface HttpService {
  readonly target: Target;
  /** For the `Host` header. */
  readonly host: string;
  readonly region: string;
  readonly credentials: CredentialStore;
  /** Throws once the transport is closed. */
  readonly assertOpen: () => void;
}

/** A smaller difference is no reason for a refusal: AWS allows five minutes. */
const MIN_SKEW_MS = 60_000;
/** A hundred years. A clock that was never set says 1970. */
const MAX_SKEW_MS = 3_155_760_000_000;

/** The headers of each operation. The same objects for all requests, so that the signer prepares them once. */
const HEADERS = { GetPublicKey: headersOf("GetPublicKey"), Sign: headersOf("Sign") };

function headersOf(operation: string): Readonly<Record<string, string>> {
  return { "content-type": "application/x-amz-json-1.1", "x-amz-target": `TrentService.${operation}` };
}

/** The calls of KMS over HTTP. Each makes one request. */
export function createHttpApi({ target, host, region, credentials, assertOpen }: HttpService): AwsKmsApi {
  const signRequest = createRequestSigner({ region, service: "kms", host, path: target.path });
  /** How far the clock of the service is ahead of this machine's. */
  let skewMs = 0;
  const learnSkew = (date: string | undefined): void => {
    const difference = date === undefined ? Number.NaN : Date.parse(date) - Date.now();
    if (Math.abs(difference) > MAX_SKEW_MS) return;
    if (Math.abs(difference - skewMs) >= MIN_SKEW_MS) skewMs = difference;
  };
  const call = async (
    operation: keyof typeof HEADERS,
    input: object,
    { signal }: AwsKmsCallOptions,
  ): Promise<Members> => {
    const body = JSON.stringify(input);
    const given = credentials.get();
    // Also waits for credentials that are there, so that the guard's timer starts first and its error ends the call.
    const identity = await (given instanceof Promise ? untilAborted(given, signal) : given);
    assertOpen();
    const signed = signRequest({ headers: HEADERS[operation], body, now: Date.now() + skewMs }, identity);
    signed["content-length"] = String(Buffer.byteLength(body));
    signed["user-agent"] = "signpost-aws-kms";
    try {
      const reply = await exchange(target, { headers: signed, body, signal });
      return answerOf(reply, learnSkew);
    } catch (error) {
      throw withSentSecrets(error, [identity.sessionToken]);
    }
  };
  return {
    getPublicKey: async (input, options): Promise<AwsKmsGetPublicKeyOutput> => {
      const members = await call("GetPublicKey", { KeyId: input.KeyId }, options);
      return { ...members, PublicKey: decodeBase64(members["PublicKey"]) } as AwsKmsGetPublicKeyOutput;
    },
    sign: async ({ KeyId, Message, MessageType, SigningAlgorithm }, options): Promise<AwsKmsSignOutput> => {
      const message = Buffer.from(Message.buffer, Message.byteOffset, Message.byteLength).toString("base64");
      const members = await call("Sign", { KeyId, Message: message, MessageType, SigningAlgorithm }, options);
      return { ...members, Signature: decodeBase64(members["Signature"]) } as AwsKmsSignOutput;
    },
  };
}

function answerOf(reply: Reply, learnSkew: (date: string | undefined) => void): Members {
  try {
    return readAnswer(reply);
  } catch (error) {
    // The refusal of a request that seems too old or too new. The next request has the service's time.
    if (isCredentialRefusal(error)) learnSkew(reply.headers.date);
    throw error;
  }
}
