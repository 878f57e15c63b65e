/**
 * True for an object literal, including one without a prototype or from another realm (test runners, vm). False for an
 * instance of a class.
 *
 * @example
 * ```ts
 * import { isPlainObject } from "@signpost/core/adapter";
 *
 * const plain = isPlainObject({}); // true
 * const instance = isPlainObject(new Date()); // false
 * ```
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || isForeignRoot(prototype);
}

/** The Object.prototype of another realm. */
function isForeignRoot(prototype: unknown): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(Object(prototype), "isPrototypeOf");
}
