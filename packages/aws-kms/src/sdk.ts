import type * as sdk from "@aws-sdk/client-kms";
import { ConfigurationError } from "@signpost/core";
import { textMember } from "@signpost/core/adapter";

/** The SDK's module. */
export type Sdk = typeof sdk;

/** Loads the peer dependency when a client is needed. Your own transport does not need it. */
export async function loadSdk(): Promise<Sdk> {
  try {
    const loaded = await import("@aws-sdk/client-kms");
    // In some bundles, code that failed to load is there the next time, but empty.
    if (typeof loaded.KMSClient !== "function") throw new Error("KMSClient is missing");
    return loaded;
  } catch (cause) {
    throw new ConfigurationError("client", loadingFailure(cause), { cause });
  }
}

/** Says why the SDK did not load: it is missing, or it is in a bundle in which it cannot run. */
export function loadingFailure(error: unknown): string {
  const [message = ""] = textMember(error, "message").split("\n");
  if (NOT_FOUND.test(message)) return "expected the peer dependency @aws-sdk/client-kms to be installed";
  const what = `expected @aws-sdk/client-kms to load, but it failed with "${message}"`;
  if (!WITHOUT_COMMONJS.test(message)) return what;
  return `${what}: its CommonJS cannot run inside this bundle; bundle its ES modules (main fields "module,main"), or make it external`;
}

// Node's message, for CommonJS and for ES modules.
const NOT_FOUND = /^Cannot find (?:module|package) '@aws-sdk\/client-kms'/;

// The messages of esbuild, of Node for code that a bundler left unchanged, of rolldown's CommonJS chunks that need each
// other, and the one above.
const WITHOUT_COMMONJS =
  /^Dynamic require of|^(?:require|module|exports|__dirname|__filename) is not defined|^\w+ is missing$|require_\w+ is not a function/;
