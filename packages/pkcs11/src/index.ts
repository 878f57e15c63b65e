export { openPkcs11Signer } from "./open.ts";
export type { Pkcs11SignerOptions } from "./options.ts";
export type { Pin } from "./pin.ts";
