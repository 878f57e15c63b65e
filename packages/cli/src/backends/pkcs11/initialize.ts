/** Arguments of `C_Initialize`. */
export interface InitializeArguments {
  readonly flags: number;
  readonly libraryParameters?: string;
}

/**
 * What the adapter passes to `C_Initialize`. Without CKF_OS_LOCKING_OK a module may assume a single thread, and calls that run at the
 * same time crash it.
 */
export function initializeArguments(
  number: (name: string) => number,
  parameters: string | undefined,
): InitializeArguments {
  const flags = number("CKF_OS_LOCKING_OK");
  // pkcs11js drops the last character of the parameters.
  return parameters === undefined ? { flags } : { flags, libraryParameters: `${parameters} ` };
}
