import { isUint8Array } from "node:util/types";

/**
 * A copy of the caller's bytes, for a value that is checked first and used later: the caller may change its bytes meanwhile, and a
 * subclass may report any length. Undefined if the value is not a Uint8Array, or if its buffer was transferred away.
 *
 * @example
 * ```ts
 * import { copiedBytes } from "@signpost/core/adapter";
 *
 * export const readId = (id: unknown): Uint8Array => copiedBytes(id) ?? new Uint8Array();
 * ```
 */
export function copiedBytes(value: unknown): Uint8Array | undefined {
  if (!isUint8Array(value)) return undefined;
  try {
    return new Uint8Array(value);
  } catch {
    return undefined;
  }
}
