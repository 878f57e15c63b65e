/**
 * The name of the code that a module returned. Undefined if the error does not begin with one. pkcs11js has the same name for all
 * codes that it does not know, those of vendors and newer ones of the standard. Then it is the number, as the adapter writes it.
 */
export function codeName(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : "";
  // Some calls of pkcs11js have the number in the message.
  const [, name, digits] = /^(CKR_\w+)(?::(\d+))?/.exec(message) ?? [];
  if (name !== "CKR_VENDOR_DEFINED") return name;
  const code = Number(digits ?? Reflect.get(Object(error), "code"));
  // Rounded above 2^53.
  return Number.isSafeInteger(code) ? `CKR 0x${code.toString(16)}` : name;
}
