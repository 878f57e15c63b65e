import { isUint8Array } from "node:util/types";

/** A copy of the caller's bytes. Undefined for what is no Uint8Array, and for one whose memory was moved elsewhere. */
export function copiedBytes(value: unknown): Uint8Array | undefined {
  if (!isUint8Array(value)) return undefined;
  try {
    return new Uint8Array(value);
  } catch {
    return undefined;
  }
}
