import { ConfigurationError } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import type { AzureKeyVaultCredentialLike } from "./api.ts";

/** Makes the default credential of `@azure/identity`, which is loaded only if the caller passes no credential. */
export async function loadDefaultCredential(): Promise<AzureKeyVaultCredentialLike> {
  try {
    const { DefaultAzureCredential } = await import("@azure/identity");
    return new DefaultAzureCredential();
  } catch (cause) {
    throw new ConfigurationError("credential", loadingFailure(cause), { cause });
  }
}

/** Says why the module did not load. */
export function loadingFailure(error: unknown): string {
  const [message = ""] = String(memberOf(error, "message")).split("\n");
  if (NOT_FOUND.test(message)) {
    return "expected a credential, or @azure/identity to be installed (npm install @azure/identity)";
  }
  return `expected a credential, or @azure/identity to load, but it failed with "${message}"`;
}

// Node's message, for CommonJS and for ES modules.
const NOT_FOUND = /^Cannot find (?:module|package) '@azure\/identity'/;
