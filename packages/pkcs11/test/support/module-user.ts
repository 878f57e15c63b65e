import type { KeyObject } from "node:crypto";
import {
  CKA,
  CKF_RW_SERIAL_SESSION,
  CKF_SERIAL_SESSION,
  CKO,
  CKU_USER,
  findObjects,
  initializeModule,
  loadModule,
  slotOf,
} from "@signpost/test-backends/pkcs11-binding";
import type { SoftHsm } from "@signpost/test-backends/softhsm";

/** Other code in the process closes every session on a token. */
export function closeAllSessions(module: string, token: string): void {
  const binding = loadModule(module);
  binding.C_CloseAllSessions(slotOf(binding, token));
}

/** Other code in the process logs out all sessions. */
export function logOut(module: string, token: string): void {
  const binding = loadModule(module);
  const session = binding.C_OpenSession(slotOf(binding, token), CKF_SERIAL_SESSION);
  binding.C_Logout(session);
  binding.C_CloseSession(session);
}

/** Other code in the process changes the PIN of a token that is logged in. */
export function changePin(module: string, token: string, pin: string, newPin: string): void {
  const binding = loadModule(module);
  const session = binding.C_OpenSession(slotOf(binding, token), CKF_RW_SERIAL_SESSION);
  binding.C_SetPIN(session, pin, newPin);
  binding.C_CloseSession(session);
}

/** Other code in the process finalizes the module. */
export function finalize(module: string): void {
  loadModule(module).C_Finalize();
}

/** Other code in the process initializes the module, and perhaps logs in. Returns a function that ends this. */
export function initialize(module: string, login?: { readonly token: string; readonly pin: string }): () => void {
  const binding = loadModule(module);
  initializeModule(binding);
  if (login !== undefined) {
    binding.C_Login(binding.C_OpenSession(slotOf(binding, login.token), CKF_SERIAL_SESSION), CKU_USER, login.pin);
  }
  return () => binding.C_Finalize();
}

/** Makes a private key object tell its public half (CKA_PUBLIC_KEY_INFO). The module must not be in use in this process. */
export function setPublicKeyInfo(hsm: SoftHsm, { label }: { readonly label: string }, publicKey: KeyObject): void {
  const binding = loadModule(hsm.module);
  initializeModule(binding);
  try {
    const session = binding.C_OpenSession(slotOf(binding, hsm.tokenLabel), CKF_RW_SERIAL_SESSION);
    binding.C_Login(session, CKU_USER, hsm.pin);
    const template = [
      { type: CKA.CLASS, value: CKO.private },
      { type: CKA.LABEL, value: Buffer.from(label) },
    ];
    const [key] = findObjects(binding, session, template, 1);
    if (key === undefined) throw new Error(`no private key ${label}`);
    const value = publicKey.export({ type: "spki", format: "der" });
    binding.C_SetAttributeValue(session, key, [{ type: CKA.PUBLIC_KEY_INFO, value }]);
  } finally {
    binding.C_Finalize();
  }
}
