import { basename } from "node:path";

// By the name of the library: where it takes its configuration from, and what it does without.
const SOURCES: readonly (readonly [library: RegExp, where: string])[] = [
  [
    /softhsm/i,
    "SoftHSM reads the file that SOFTHSM2_CONF names, and its tokens in the folder that directories.tokendir names there. " +
      "C_Initialize fails where one of them is not there or cannot be read, and where the file has a value that it does not know, such " +
      "as a backend that it was built without; a file that says nothing makes it look in its own folder",
  ],
  [/softokn/i, "NSS takes its configuration from the option libraryParameters"],
  [/tpm2_pkcs11/i, "tpm2-pkcs11 takes its configuration from TPM2_PKCS11_STORE and TPM2_PKCS11_TCTI"],
  [/p11-kit-client/i, "p11-kit's client finds its server by P11_KIT_SERVER_ADDRESS"],
  [/yubihsm/i, "this module takes its configuration from the file that YUBIHSM_PKCS11_CONF names"],
  [/cs_pkcs11/i, "this module takes its configuration from the file that CS_PKCS11_R3_CFG names"],
  [/nethsm/i, "this module takes its configuration from the file that P11NETHSM_CONFIG_FILE names"],
];

/** Where the module at a path takes its configuration from, for people; undefined where that is not known. */
export function configurationHint(module: string): string | undefined {
  return SOURCES.find(([library]) => library.test(basename(module)))?.[1];
}
