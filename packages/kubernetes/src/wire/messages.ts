import { bytesField, numberField, readBytesFields, textField } from "./fields.ts";
import type { FetchedKey, FetchedKeys, SignedToken } from "../signer-types.ts";

// The messages of KEP-740. `v1` and `v1alpha1` have the same fields.

/** The claims of a SignJWTRequest, or undefined if it is malformed or has none. The text is ASCII, because it is base64url. */
export function decodeSignRequest(message: Uint8Array): string | undefined {
  // As in every implementation of Protocol Buffers, the last value of a field that is there twice counts.
  const claims = readBytesFields(message)?.findLast(({ number }) => number === 1)?.bytes;
  return claims === undefined ? undefined : Buffer.from(claims).toString("latin1");
}

/** Whether the bytes are a message without required fields: FetchKeysRequest or MetadataRequest. */
export function isEmptyRequest(message: Uint8Array): boolean {
  return readBytesFields(message) !== undefined;
}

/** A SignJWTResponse. */
export function encodeSignResponse({ header, signature }: SignedToken): Buffer {
  return Buffer.concat([textField(1, header), textField(2, signature)]);
}

/** A FetchKeysResponse. */
export function encodeKeys({ keys, dataTimestamp, refreshHintSeconds }: FetchedKeys): Buffer {
  return Buffer.concat([
    ...keys.map((key) => bytesField(1, encodeKey(key))),
    bytesField(2, encodeTimestamp(dataTimestamp)),
    numberField(3, refreshHintSeconds),
  ]);
}

/** A MetadataResponse. */
export function encodeMetadata(maxTokenExpirationSeconds: number): Buffer {
  return Buffer.from(numberField(1, maxTokenExpirationSeconds));
}

function encodeKey({ keyId, spki, excludeFromDiscovery }: FetchedKey): Uint8Array {
  return Buffer.concat([textField(1, keyId), bytesField(2, spki), numberField(3, excludeFromDiscovery ? 1 : 0)]);
}

/** google.protobuf.Timestamp. */
function encodeTimestamp(date: Date): Uint8Array {
  const ms = date.getTime();
  return Buffer.concat([numberField(1, Math.floor(ms / 1000)), numberField(2, (ms % 1000) * 1_000_000)]);
}
