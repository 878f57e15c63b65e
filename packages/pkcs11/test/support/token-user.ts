import { createRequire } from "node:module";

type Handle = Buffer;
interface Attribute {
  readonly type: number;
  readonly value?: Uint8Array | number | boolean;
}

/** The part of pkcs11js with which other code makes and destroys keys. */
interface Binding {
  load(path: string): void;
  C_Initialize(args: { flags: number; libraryParameters?: string }): void;
  C_Finalize(): void;
  C_GetSlotList(tokenPresent: boolean): Handle[];
  C_GetTokenInfo(slot: Handle): { label: string };
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_CloseSession(session: Handle): void;
  C_Login(session: Handle, userType: number, pin: string): void;
  C_FindObjectsInit(session: Handle, template: readonly Attribute[]): void;
  C_FindObjects(session: Handle, most: number): Handle[];
  C_FindObjectsFinal(session: Handle): void;
  C_DestroyObject(session: Handle, object: Handle): void;
  C_GenerateKeyPair(
    session: Handle,
    mechanism: { mechanism: number },
    publicTemplate: readonly Attribute[],
    privateTemplate: readonly Attribute[],
  ): unknown;
}

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

const CKF_OS_LOCKING_OK = 2;
const CKF_RW_SERIAL_SESSION = 2 | 4;
const CKU_USER = 1;
const CKR_USER_ALREADY_LOGGED_IN = 0x100;
const CKR_CRYPTOKI_ALREADY_INITIALIZED = 0x191;
const CLASSES = { public: 2, private: 3 } as const;
const CKA = {
  CLASS: 0x0,
  TOKEN: 0x1,
  PRIVATE: 0x2,
  LABEL: 0x3,
  ID: 0x102,
  SENSITIVE: 0x103,
  SIGN: 0x108,
  VERIFY: 0x10a,
  MODULUS_BITS: 0x121,
  PUBLIC_EXPONENT: 0x122,
  EC_PARAMS: 0x180,
} as const;

const CKM_EC_KEY_PAIR_GEN = 0x1040;
const CKM_RSA_PKCS_KEY_PAIR_GEN = 0x0;
const curve = (oid: string): readonly Attribute[] => [{ type: CKA.EC_PARAMS, value: Buffer.from(oid, "hex") }];
const KINDS: Readonly<Record<KeyKind, { readonly mechanism: number; readonly parameters: readonly Attribute[] }>> = {
  "P-256": { mechanism: CKM_EC_KEY_PAIR_GEN, parameters: curve("06082a8648ce3d030107") },
  "P-384": { mechanism: CKM_EC_KEY_PAIR_GEN, parameters: curve("06052b81040022") },
  RSA: {
    mechanism: CKM_RSA_PKCS_KEY_PAIR_GEN,
    parameters: [
      { type: CKA.MODULUS_BITS, value: 2048 },
      { type: CKA.PUBLIC_EXPONENT, value: Buffer.from([1, 0, 1]) },
    ],
  },
};

/** Works on a token as other code in this process, beside whatever signers are open. */
export function useToken<Result>(options: TokenUserOptions, work: (user: TokenUser) => Result): Result {
  const { PKCS11 } = createRequire(import.meta.url)("pkcs11js") as { PKCS11: new () => Binding };
  const binding = new PKCS11();
  binding.load(options.module);
  // pkcs11js loses the last character of the text.
  const parameters =
    options.libraryParameters === undefined ? {} : { libraryParameters: `${options.libraryParameters} ` };
  const owner = passes(CKR_CRYPTOKI_ALREADY_INITIALIZED, () =>
    binding.C_Initialize({ flags: CKF_OS_LOCKING_OK, ...parameters }),
  );
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

function slotOf(binding: Binding, token: string): Handle {
  const slot = binding
    .C_GetSlotList(true)
    .find((candidate) => binding.C_GetTokenInfo(candidate).label.replace(/[\0 ]+$/, "") === token);
  if (slot === undefined) throw new Error(`no token ${token}`);
  return slot;
}

function generateKey(binding: Binding, session: Handle, kind: KeyKind, name: { label: string; id: string }): void {
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

function destroy(binding: Binding, session: Handle, label: string, only?: keyof typeof CLASSES): void {
  for (const objectClass of only === undefined ? Object.values(CLASSES) : [CLASSES[only]]) {
    binding.C_FindObjectsInit(session, [
      { type: CKA.CLASS, value: objectClass },
      { type: CKA.LABEL, value: Buffer.from(label) },
    ]);
    const found = binding.C_FindObjects(session, 16);
    binding.C_FindObjectsFinal(session);
    for (const object of found) binding.C_DestroyObject(session, object);
  }
}
