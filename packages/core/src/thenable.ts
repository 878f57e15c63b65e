/** True for anything with a `then` method. May throw, if `then` is a getter that throws. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof (value as { readonly then?: unknown }).then === "function";
}

/** For a promise that is not awaited. An unhandled rejection would end the process. */
export function swallowRejection(value: PromiseLike<unknown>): void {
  Promise.resolve(value).catch(() => undefined);
}
