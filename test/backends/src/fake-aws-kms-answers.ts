import { createHash, generateKeyPairSync } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { SLOW_FAULT_MS, type Fault } from "./faults.ts";
import type { FakeKmsKey, SignatureShape } from "./fake-aws-kms-keys.ts";

/** The data on the wire. */
export interface WireReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** What happens instead of a complete answer. */
  readonly ending?: "hang" | "hang-after-headers" | "reset" | undefined;
  readonly delayMs?: number | undefined;
}

export interface KmsRequest {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** What the fake knows when it answers. */
export interface KmsState {
  readonly shape: SignatureShape;
  /** The key that signs in place of the right one. */
  readonly stranger: FakeKmsKey;
  /** By key id, key ARN, alias name or alias ARN, byte for byte. */
  find(keyId: string): FakeKmsKey | undefined;
  stateOf(key: FakeKmsKey): "Enabled" | "Disabled" | "PendingDeletion";
}

const JSON_TYPE = "application/x-amz-json-1.1";

export function errorReply(type: string, status = 400, message = "made up by a test"): WireReply {
  return { status, contentType: JSON_TYPE, body: JSON.stringify({ __type: type, message }) };
}

/** The answer that AWS KMS would give, modified by `fault`. */
export function answerKms(request: KmsRequest, fault: Fault | undefined, state: KmsState): WireReply {
  const right = (changes: Partial<Making> = {}): WireReply => answer(request, state, changes);
  switch (fault) {
    case undefined:
      return right();
    case "hang":
    case "hang-after-headers":
    case "reset":
      return { ...right(), ending: fault };
    case "slow":
      return { ...right(), delayMs: SLOW_FAULT_MS };
    case "html":
      return { status: 502, contentType: "text/html", body: "<html><body><h1>502 Bad Gateway</h1></body></html>" };
    case "truncated": {
      const whole = right();
      return { ...whole, body: whole.body.slice(0, Math.floor(whole.body.length / 2)) };
    }
    case "empty":
      return { status: 200, contentType: JSON_TYPE, body: "{}" };
    case "wrong-key":
      return right({ signer: state.stranger, name: state.stranger.arn });
    case "foreign-signature":
      return right({ signer: state.stranger });
    case "bad-signature":
      return right({ digest: (digest) => createHash("sha256").update(digest).digest() });
    case "corrupted":
      return right({ bytes: lastBitFlipped });
    case "malformed-signature":
      return right({ bytes: (der) => Buffer.concat([der, Buffer.of(0)]) });
    case "out-of-range-signature":
      return right({ bytes: () => outOfRange() });
    case "unsupported-key":
      return request.operation === "GetPublicKey" ? right({ unsupported: true }) : right();
    default:
      return refusal(fault);
  }
}

function refusal(fault: Fault): WireReply {
  switch (fault) {
    case "throttle":
      return errorReply("ThrottlingException", 400, "Rate exceeded");
    case "unavailable":
      return errorReply("KMSInternalException", 500);
    case "backend-timeout":
      return errorReply("DependencyTimeoutException", 503);
    case "access-denied":
      return errorReply("AccessDeniedException", 400);
    case "expired-credentials":
      return errorReply("ExpiredTokenException", 400, "The security token included in the request is expired");
    case "key-not-found":
      return errorReply("NotFoundException", 400);
    case "key-disabled":
      return errorReply("DisabledException", 400);
    case "key-destroyed":
      return errorReply("KMSInvalidStateException", 400, "the key is pending deletion.");
    default:
      throw new Error(`the fake AWS KMS does not support the fault ${fault}`);
  }
}

/** How to make a correct answer, so that a fault changes one part of it. */
interface Making {
  /** Who signs, and whose public key it is. Default: the requested key. */
  readonly signer: FakeKmsKey;
  /** The ARN in the answer. Default: the requested key's. */
  readonly name: string;
  readonly digest: (digest: Uint8Array) => Uint8Array;
  /** Changes the signature or the SubjectPublicKeyInfo. */
  readonly bytes: (der: Uint8Array) => Uint8Array;
  readonly unsupported: boolean;
}

function answer(request: KmsRequest, state: KmsState, changes: Partial<Making>): WireReply {
  const keyId = request.input["KeyId"];
  if (typeof keyId !== "string" || keyId === "") return errorReply("ValidationException");
  const key = state.find(keyId);
  if (key === undefined) return errorReply("NotFoundException");
  if (state.stateOf(key) === "PendingDeletion") return errorReply("KMSInvalidStateException");
  switch (request.operation) {
    case "GetPublicKey":
      return answerPublicKey(key, changes);
    case "Sign":
      return answerSign(request, key, state, changes);
    default:
      return errorReply("UnknownOperationException");
  }
}

function answerPublicKey(key: FakeKmsKey, changes: Partial<Making>): WireReply {
  const { publicKey } = changes.signer ?? key;
  if (publicKey === undefined) return errorReply("UnsupportedOperationException");
  const unsupported = changes.unsupported === true;
  const shown = unsupported ? generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey : publicKey;
  const spki = shown.export({ format: "der", type: "spki" });
  return success({
    KeyId: changes.name ?? key.arn,
    PublicKey: base64(changes.bytes?.(spki) ?? spki),
    KeySpec: unsupported ? "ECC_NIST_P384" : key.keySpec,
    CustomerMasterKeySpec: unsupported ? "ECC_NIST_P384" : key.keySpec,
    KeyUsage: key.keyUsage,
    SigningAlgorithms: unsupported ? ["ECDSA_SHA_384"] : key.signingAlgorithms,
  });
}

/** Checks what AWS KMS checks: https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html */
function answerSign(request: KmsRequest, key: FakeKmsKey, state: KmsState, changes: Partial<Making>): WireReply {
  if (state.stateOf(key) === "Disabled") return errorReply("DisabledException");
  const { Message, MessageType, SigningAlgorithm } = request.input;
  if (typeof Message !== "string") return errorReply("ValidationException");
  const message = Buffer.from(Message, "base64");
  if (key.keyUsage !== "SIGN_VERIFY" || !key.signingAlgorithms.includes(String(SigningAlgorithm))) {
    return errorReply("InvalidKeyUsageException");
  }
  if (MessageType === "DIGEST" && message.length !== 32) return errorReply("ValidationException");
  const asked = MessageType === "DIGEST" ? message : createHash("sha256").update(message).digest();
  const signer = changes.signer ?? key;
  const der = signer.sign(changes.digest?.(asked) ?? asked, state.shape);
  return success({
    KeyId: changes.name ?? key.arn,
    Signature: base64(changes.bytes?.(der) ?? der),
    SigningAlgorithm,
  });
}

function success(output: Readonly<Record<string, unknown>>): WireReply {
  return { status: 200, contentType: JSON_TYPE, body: JSON.stringify(output) };
}

function lastBitFlipped(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const last = copy.length - 1;
  copy[last] = (copy[last] ?? 0) ^ 1;
  return copy;
}

/** Well-formed DER with s = n. */
function outOfRange(): Uint8Array {
  const order = Buffer.from(p256.Point.Fn.ORDER.toString(16), "hex");
  return Buffer.concat([Buffer.from("3026020101022100", "hex"), order]);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
