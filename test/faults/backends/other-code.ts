import { CKF_SERIAL_SESSION, loadModule, slotOf } from "@signpost/test-backends/pkcs11-binding";

// Other code in the process, which uses the module carelessly.

export function closeAllSessions(module: string, token: string): void {
  const binding = loadModule(module);
  binding.C_CloseAllSessions(slotOf(binding, token));
}

export function logOut(module: string, token: string): void {
  const binding = loadModule(module);
  const session = binding.C_OpenSession(slotOf(binding, token), CKF_SERIAL_SESSION);
  binding.C_Logout(session);
  binding.C_CloseSession(session);
}

export function finalize(module: string): void {
  loadModule(module).C_Finalize();
}
