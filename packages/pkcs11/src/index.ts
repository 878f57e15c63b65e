export { pkcs11 } from "./adapter.ts";
export type { Pkcs11AdapterOptions } from "./adapter.ts";
export { openPkcs11Signer } from "./open.ts";
export type { Isolation, KeyOptions, Pkcs11SignerOptions } from "./request/options.ts";
export type { Pin } from "./request/pin.ts";
