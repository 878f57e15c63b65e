import type { KeyObject } from "node:crypto";
import { createRequire } from "node:module";
import type { SoftHsm } from "@signpost/test-backends/softhsm";

/** The part of pkcs11js that tests use to act as other code in this process that uses the same module. */
interface Binding {
  load(path: string): void;
  C_Initialize(args: { flags: number }): void;
  C_Finalize(): void;
  C_GetSlotList(tokenPresent: boolean): Buffer[];
  C_GetTokenInfo(slot: Buffer): { label: string };
  C_OpenSession(slot: Buffer, flags: number): Buffer;
  C_Login(session: Buffer, userType: number, pin: string): void;
  C_Logout(session: Buffer): void;
  C_CloseSession(session: Buffer): void;
  C_CloseAllSessions(slot: Buffer): void;
  C_FindObjectsInit(session: Buffer, template: readonly Attribute[]): void;
  C_FindObjects(session: Buffer, most: number): Buffer[];
  C_FindObjectsFinal(session: Buffer): void;
  C_SetAttributeValue(session: Buffer, object: Buffer, template: readonly Attribute[]): void;
}

interface Attribute {
  readonly type: number;
  readonly value: Uint8Array | number;
}

const CKF_OS_LOCKING_OK = 2;
const CKF_SERIAL_SESSION = 4;
const CKF_RW_SESSION = 2;
const CKU_USER = 1;
const CKO_PRIVATE_KEY = 3;
const CKA_CLASS = 0x0;
const CKA_LABEL = 0x3;
const CKA_PUBLIC_KEY_INFO = 0x129;

export function loadModule(path: string): Binding {
  const { PKCS11 } = createRequire(import.meta.url)("pkcs11js") as { PKCS11: new () => Binding };
  const binding = new PKCS11();
  binding.load(path);
  return binding;
}

/** Somebody else in the process closes every session on a token. */
export function closeAllSessions(module: string, token: string): void {
  const binding = loadModule(module);
  binding.C_CloseAllSessions(slotOf(binding, token));
}

/** Somebody else in the process logs everybody out. */
export function logOut(module: string, token: string): void {
  const binding = loadModule(module);
  const session = binding.C_OpenSession(slotOf(binding, token), CKF_SERIAL_SESSION);
  binding.C_Logout(session);
  binding.C_CloseSession(session);
}

/** Somebody else in the process finalises the module. */
export function finalize(module: string): void {
  loadModule(module).C_Finalize();
}

/** Somebody else in the process initialises the module, and perhaps logs in. Returns how to end that. */
export function initialize(module: string, login?: { readonly token: string; readonly pin: string }): () => void {
  const binding = loadModule(module);
  binding.C_Initialize({ flags: CKF_OS_LOCKING_OK });
  if (login !== undefined) {
    binding.C_Login(binding.C_OpenSession(slotOf(binding, login.token), CKF_SERIAL_SESSION), CKU_USER, login.pin);
  }
  return () => binding.C_Finalize();
}

/** Makes a private key object tell its public half (CKA_PUBLIC_KEY_INFO). The module must not be in use in this process. */
export function setPublicKeyInfo(hsm: SoftHsm, { label }: { readonly label: string }, publicKey: KeyObject): void {
  const binding = loadModule(hsm.module);
  binding.C_Initialize({ flags: CKF_OS_LOCKING_OK });
  try {
    const session = binding.C_OpenSession(slotOf(binding, hsm.tokenLabel), CKF_SERIAL_SESSION | CKF_RW_SESSION);
    binding.C_Login(session, CKU_USER, hsm.pin);
    binding.C_FindObjectsInit(session, [
      { type: CKA_CLASS, value: CKO_PRIVATE_KEY },
      { type: CKA_LABEL, value: Buffer.from(label) },
    ]);
    const [key] = binding.C_FindObjects(session, 1);
    binding.C_FindObjectsFinal(session);
    if (key === undefined) throw new Error(`no private key ${label}`);
    const value = publicKey.export({ type: "spki", format: "der" });
    binding.C_SetAttributeValue(session, key, [{ type: CKA_PUBLIC_KEY_INFO, value }]);
  } finally {
    binding.C_Finalize();
  }
}

function slotOf(binding: Binding, token: string): Buffer {
  const slot = binding
    .C_GetSlotList(true)
    .find((candidate) => binding.C_GetTokenInfo(candidate).label.trim() === token);
  if (slot === undefined) throw new Error(`no token ${token}`);
  return slot;
}
