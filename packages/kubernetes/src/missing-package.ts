/** Whether an import failed because this package is not installed. Not for what the package itself cannot find. */
export function isMissing(error: unknown, name: string): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" && String(message).includes(`'${name}'`);
}
