export { pkcs11 } from "./adapter.ts";
export type { Pkcs11AdapterOptions } from "./adapter.ts";
export { pkcs11Certificates } from "./certificates.ts";
export type { Pkcs11Certificate } from "./certificates.ts";
export { forgetRefusedPins } from "./forget-refused-pins.ts";
export { openPkcs11Signer } from "./open.ts";
export type { Pkcs11CertificatesOptions } from "./request/certificates-options.ts";
export type { Pkcs11Isolation, Pkcs11KeyOptions, Pkcs11SignerOptions } from "./request/options.ts";
export type { Pkcs11Pin } from "./request/pin.ts";
