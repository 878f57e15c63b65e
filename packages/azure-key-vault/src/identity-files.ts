import { ConfigurationError, SignerError } from "@signpost/core";
import { readRegularFile } from "@signpost/core/adapter";
import type { AzureKeyVaultCredentialLike } from "./api.ts";

/** Variables with the path of a file that the default credential reads for each token. */
const VARIABLES = ["AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_CERTIFICATE_PATH"];

/** A token has a few thousand bytes, and so has a certificate with its key. */
const MAX_BYTES = 1_048_576;

/**
 * Lets the default credential begin only after its files were read here.
 *
 * It has no time limit for a file, and each read of a mount that hangs blocks one of the four threads of libuv's pool. Here all
 * signers wait for one read.
 */
export function afterFiles(credential: AzureKeyVaultCredentialLike): AzureKeyVaultCredentialLike {
  return {
    getToken: async (scopes, options) => {
      for (const variable of VARIABLES) await untilFileAnswers(variable, process.env[variable] ?? "");
      return credential.getToken(scopes, options);
    },
  };
}

async function untilFileAnswers(variable: string, path: string): Promise<void> {
  // The credential takes a secret first, and reads no file.
  if (path === "" || (process.env["AZURE_CLIENT_SECRET"] ?? "") !== "") return;
  await readRegularFile(variable, path, MAX_BYTES).catch((error: unknown) => {
    // The credential says what else is wrong with it.
    if (!(error instanceof ConfigurationError)) return;
    throw new SignerError("access_denied", `the credential gave no token: ${error.message}`);
  });
}
