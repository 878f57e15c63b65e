// How a user opens a signer of each backend. `key` is 0 before the rotation and 1 after it.
import { load } from "./lib.mjs";

/** @typedef {(key: 0 | 1, options?: object) => Promise<any>} Open */

/** @type {Readonly<Record<string, (backend: any) => Promise<Open>>>} */
export const OPENERS = {
  local: async ({ keys }) => {
    const { openLocalSigner } = await load("local");
    return (key, options) => openLocalSigner({ privateKey: keys[key], ...options });
  },
  "aws-kms": async ({ keys, endpoint, transport }) => {
    const { openAwsKmsSigner } = await load("aws-kms");
    return (key, options) => openAwsKmsSigner({ key: keys[key], endpoint, transport, ...options });
  },
  "gcp-kms": async ({ keys, endpoint, transport }) => {
    const { openGcpKmsSigner } = await load("gcp-kms");
    return (key, options) => openGcpKmsSigner({ keyVersion: keys[key], endpoint, transport, ...options });
  },
  "vault-transit": async ({ keys, address, token }) => {
    const { openVaultTransitSigner } = await load("vault-transit");
    const auth = { method: "token", token };
    return (key, options) => openVaultTransitSigner({ key: keys[key], address, auth, ...options });
  },
  "azure-key-vault": async ({ keys, vault, caFile, token }) => {
    const { openAzureKeyVaultSigner } = await load("azure-key-vault");
    const fixed = { key: "op", vault, tls: { caFile }, credential: () => token };
    return (key, options) => openAzureKeyVaultSigner({ ...fixed, keyVersion: keys[key], ...options });
  },
  pkcs11: async ({ keys, isolation, ...token }) => {
    const { openPkcs11Signer } = await load("pkcs11");
    const fixed = { ...token, isolation, sessions: 2 };
    return (key, options) => openPkcs11Signer({ ...fixed, object: keys[key], ...options });
  },
};
