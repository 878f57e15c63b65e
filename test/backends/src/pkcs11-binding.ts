import { createRequire } from "node:module";

export type Handle = Buffer;

export interface Attribute {
  readonly type: number;
  readonly value?: Uint8Array | number | boolean;
}

/** The part of pkcs11js that tests use to work on tokens, and to act as other code in the same module. */
export interface Pkcs11Binding {
  load(path: string): void;
  C_Initialize(args: { flags: number; libraryParameters?: string }): void;
  C_Finalize(): void;
  C_GetSlotList(tokenPresent: boolean): Handle[];
  C_GetTokenInfo(slot: Handle): { label: string; flags: number };
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_CloseSession(session: Handle): void;
  C_CloseAllSessions(slot: Handle): void;
  C_Login(session: Handle, userType: number, pin: string): void;
  C_Logout(session: Handle): void;
  C_SetPIN(session: Handle, pin: string, newPin: string): void;
  C_FindObjectsInit(session: Handle, template: readonly Attribute[]): void;
  C_FindObjects(session: Handle, most: number): Handle[];
  C_FindObjectsFinal(session: Handle): void;
  C_GetAttributeValue(session: Handle, object: Handle, template: readonly Attribute[]): { value: Buffer }[];
  C_SetAttributeValue(session: Handle, object: Handle, template: readonly Attribute[]): void;
  C_DestroyObject(session: Handle, object: Handle): void;
  C_GenerateKeyPair(
    session: Handle,
    mechanism: { mechanism: number },
    publicTemplate: readonly Attribute[],
    privateTemplate: readonly Attribute[],
  ): { publicKey: Handle };
}

const CKF_OS_LOCKING_OK = 2;
export const CKF_SERIAL_SESSION = 4;
export const CKF_RW_SERIAL_SESSION: number = 2 | CKF_SERIAL_SESSION;
export const CKU_USER = 1;
export const CKM_EC_KEY_PAIR_GEN = 0x1040;
export const CKO = { public: 2, private: 3 } as const;
export const CKA = {
  CLASS: 0x0,
  TOKEN: 0x1,
  PRIVATE: 0x2,
  LABEL: 0x3,
  KEY_TYPE: 0x100,
  ID: 0x102,
  SENSITIVE: 0x103,
  SIGN: 0x108,
  VERIFY: 0x10a,
  MODULUS_BITS: 0x121,
  PUBLIC_EXPONENT: 0x122,
  PUBLIC_KEY_INFO: 0x129,
  EXTRACTABLE: 0x162,
  EC_PARAMS: 0x180,
  EC_POINT: 0x181,
} as const;

/** DER of the object identifier 1.2.840.10045.3.1.7 (RFC 5480 section 2.1.1.1). */
export const P256_PARAMETERS: Buffer = Buffer.from("06082a8648ce3d030107", "hex");

export function loadModule(path: string): Pkcs11Binding {
  const { PKCS11 } = createRequire(import.meta.url)("pkcs11js") as { PKCS11: new () => Pkcs11Binding };
  const binding = new PKCS11();
  binding.load(path);
  return binding;
}

/** C_Initialize, with locks. */
export function initializeModule(binding: Pkcs11Binding, libraryParameters?: string): void {
  // pkcs11js loses the last character of the text.
  const parameters = libraryParameters === undefined ? {} : { libraryParameters: `${libraryParameters} ` };
  binding.C_Initialize({ flags: CKF_OS_LOCKING_OK, ...parameters });
}

/** The slot of the token with this label. */
export function slotOf(binding: Pkcs11Binding, token: string): Handle {
  const slot = binding
    .C_GetSlotList(true)
    .find((candidate) => binding.C_GetTokenInfo(candidate).label.replace(/[\0 ]+$/, "") === token);
  if (slot === undefined) throw new Error(`no token ${JSON.stringify(token)}`);
  return slot;
}

/** At most `most` of the objects that match. */
export function findObjects(
  binding: Pkcs11Binding,
  session: Handle,
  template: readonly Attribute[],
  most: number,
): readonly Handle[] {
  binding.C_FindObjectsInit(session, template);
  const found = binding.C_FindObjects(session, most);
  binding.C_FindObjectsFinal(session);
  return found;
}
