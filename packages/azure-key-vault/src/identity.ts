import { ConfigurationError } from "@signpost/core";
import { textMember } from "@signpost/core/adapter";
import type { AzureKeyVaultCredentialLike } from "./api.ts";
import { CREDENTIAL_MS } from "./credential.ts";
import { afterFiles } from "./identity-files.ts";
import { WITHOUT_COMMONJS } from "./undici.ts";

/** It keeps its tokens, and the metadata service of a machine answers few requests at a time. */
let shared: AzureKeyVaultCredentialLike | undefined;

/**
 * Makes the default credential of `@azure/identity`, which is loaded only if the caller passes no credential. All signers of
 * the process share it.
 */
export async function loadDefaultCredential(): Promise<AzureKeyVaultCredentialLike> {
  try {
    // In some bundles, code that failed to load is there the next time, but empty.
    const { DefaultAzureCredential } = await import("@azure/identity");
    if (typeof DefaultAzureCredential !== "function") throw new Error("DefaultAzureCredential is missing");
    // Otherwise each command line tool that hangs, such as `az`, would stay, and each time another one would be started.
    shared ??= afterFiles(new DefaultAzureCredential({ processTimeoutInMs: CREDENTIAL_MS }));
    return shared;
  } catch (cause) {
    throw new ConfigurationError("credential", loadingFailure(cause), { cause });
  }
}

/** Says why the module did not load. */
export function loadingFailure(error: unknown): string {
  const [message = ""] = textMember(error, "message").split("\n");
  if (NOT_FOUND.test(message)) {
    return "expected a credential, or @azure/identity to be installed (npm install @azure/identity)";
  }
  const what = `expected a credential, or @azure/identity to load, but it failed with "${message}"`;
  if (!WITHOUT_COMMONJS.test(message)) return what;
  return `${what}: its CommonJS cannot run inside this bundle; make @azure/identity external, or bundle to CommonJS`;
}

// Node's message, for CommonJS and for ES modules.
const NOT_FOUND = /^Cannot find (?:module|package) '@azure\/identity'/;
