/** The codes of Node: of `import`, and of `require`, which a CommonJS bundle has in its place. */
const NOT_FOUND: readonly unknown[] = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"];

/** Whether an import failed because this package is not installed. Not for what the package itself cannot find. */
export function isMissing(error: unknown, name: string): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  const [first = ""] = String(message).split("\n");
  return NOT_FOUND.includes(code) && first.includes(`'${name}'`);
}
