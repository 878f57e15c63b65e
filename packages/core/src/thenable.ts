/** True for anything with a `then` method. Reading it may throw, if the object is made so. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof (value as { readonly then?: unknown }).then === "function";
}

/** For a promise that nobody waits for: its rejection must not become an unhandled one, which ends the process. */
export function swallowRejection(value: PromiseLike<unknown>): void {
  Promise.resolve(value).catch(() => undefined);
}
