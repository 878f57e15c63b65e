import {
  type Attribute,
  CKA,
  CKF_RW_SERIAL_SESSION,
  CKM_EC_KEY_PAIR_GEN,
  CKO,
  CKU_USER,
  findObjects,
  type Handle,
  initializeModule,
  loadModule,
  P256_PARAMETERS,
  type Pkcs11Binding,
  slotOf,
} from "@signpost/test-backends/pkcs11-binding";

export interface TokenUserOptions {
  readonly module: string;
  readonly libraryParameters?: string | undefined;
  readonly token: string;
  readonly pin: string;
}

export type KeyKind = "P-256" | "P-384" | "RSA";

/** Other code in the process that is logged in to a token. */
export interface TokenUser {
  /** `id` is hexadecimal. */
  generateKey(kind: KeyKind, name: { readonly label: string; readonly id: string }): void;
  /** `class`: of the objects with this label, only those. */
  destroy(label: string, objectClass?: "public" | "private"): void;
}

const CKR_USER_ALREADY_LOGGED_IN = 0x100;
const CKR_CRYPTOKI_ALREADY_INITIALIZED = 0x191;
const CKM_RSA_PKCS_KEY_PAIR_GEN = 0x0;
const P384_PARAMETERS = Buffer.from("06052b81040022", "hex");
const KINDS: Readonly<Record<KeyKind, { readonly mechanism: number; readonly parameters: readonly Attribute[] }>> = {
  "P-256": { mechanism: CKM_EC_KEY_PAIR_GEN, parameters: [{ type: CKA.EC_PARAMS, value: P256_PARAMETERS }] },
  "P-384": { mechanism: CKM_EC_KEY_PAIR_GEN, parameters: [{ type: CKA.EC_PARAMS, value: P384_PARAMETERS }] },
  RSA: {
    mechanism: CKM_RSA_PKCS_KEY_PAIR_GEN,
    parameters: [
      { type: CKA.MODULUS_BITS, value: 2048 },
      { type: CKA.PUBLIC_EXPONENT, value: Buffer.from([1, 0, 1]) },
    ],
  },
};

/** Works on a token as other code in this process, while signers are open. */
export function useToken<Result>(options: TokenUserOptions, work: (user: TokenUser) => Result): Result {
  const binding = loadModule(options.module);
  const owner = passes(CKR_CRYPTOKI_ALREADY_INITIALIZED, () => initializeModule(binding, options.libraryParameters));
  try {
    const session = binding.C_OpenSession(slotOf(binding, options.token), CKF_RW_SERIAL_SESSION);
    passes(CKR_USER_ALREADY_LOGGED_IN, () => binding.C_Login(session, CKU_USER, options.pin));
    const result = work({
      generateKey: (kind, name) => generateKey(binding, session, kind, name),
      destroy: (label, objectClass) => destroy(binding, session, label, objectClass),
    });
    binding.C_CloseSession(session);
    return result;
  } finally {
    if (owner) binding.C_Finalize();
  }
}

/** True when the call succeeded, false when it failed with this code. */
function passes(code: number, call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === code) return false;
    throw error;
  }
}

function generateKey(
  binding: Pkcs11Binding,
  session: Handle,
  kind: KeyKind,
  name: { label: string; id: string },
): void {
  const { mechanism, parameters } = KINDS[kind];
  const common = [
    { type: CKA.TOKEN, value: true },
    { type: CKA.LABEL, value: Buffer.from(name.label) },
    { type: CKA.ID, value: Buffer.from(name.id, "hex") },
  ];
  binding.C_GenerateKeyPair(
    session,
    { mechanism },
    [...common, { type: CKA.VERIFY, value: true }, ...parameters],
    [
      ...common,
      { type: CKA.PRIVATE, value: true },
      { type: CKA.SENSITIVE, value: true },
      { type: CKA.SIGN, value: true },
    ],
  );
}

function destroy(binding: Pkcs11Binding, session: Handle, label: string, only?: keyof typeof CKO): void {
  for (const objectClass of only === undefined ? Object.values(CKO) : [CKO[only]]) {
    const template = [
      { type: CKA.CLASS, value: objectClass },
      { type: CKA.LABEL, value: Buffer.from(label) },
    ];
    const found = findObjects(binding, session, template, 16);
    for (const object of found) binding.C_DestroyObject(session, object);
  }
}
