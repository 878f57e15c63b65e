import { basename } from "node:path";

// By library name: where the library takes its configuration from, and what happens without it.
const SOURCES: readonly (readonly [library: RegExp, where: string])[] = [
  [
    /softhsm/i,
    "SoftHSM reads the file named by SOFTHSM2_CONF, and its tokens from the folder that directories.tokendir sets there. " +
      "C_Initialize fails if either is missing or unreadable, or if the file has a value that this build does not know, such " +
      "as a backend that it was built without. With an empty file SoftHSM looks in its default folder",
  ],
  [/softokn/i, "NSS takes its configuration from the option libraryParameters"],
  [/tpm2_pkcs11/i, "tpm2-pkcs11 takes its configuration from TPM2_PKCS11_STORE and TPM2_PKCS11_TCTI"],
  [/p11-kit-client/i, "p11-kit's client finds its server by P11_KIT_SERVER_ADDRESS"],
  // The proxy, p11-kit-proxy.so, is a link to this library.
  [/libp11-kit|p11-kit-proxy/i, "p11-kit's proxy shows the tokens of the modules that p11-kit list-modules lists"],
  [/yubihsm/i, "this module reads its configuration from the file named by YUBIHSM_PKCS11_CONF"],
  [/cs_pkcs11/i, "this module reads its configuration from the file named by CS_PKCS11_R3_CFG"],
  [/nethsm/i, "this module reads its configuration from the file named by P11NETHSM_CONFIG_FILE"],
];

/** Says where the module at a path takes its configuration from. Undefined for unknown modules. */
export function configurationHint(module: string): string | undefined {
  return SOURCES.find(([library]) => library.test(basename(module)))?.[1];
}
