import { isUint8Array } from "node:util/types";

/** A copy of the caller's bytes. Undefined if the value is not a Uint8Array, or if its buffer was transferred away. */
export function copiedBytes(value: unknown): Uint8Array | undefined {
  if (!isUint8Array(value)) return undefined;
  try {
    return new Uint8Array(value);
  } catch {
    return undefined;
  }
}
