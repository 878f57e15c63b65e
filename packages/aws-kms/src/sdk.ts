import type * as sdk from "@aws-sdk/client-kms";
import { ConfigurationError } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";

/** What is used of the SDK. */
export type Sdk = typeof sdk;

/** The peer dependency, loaded when a client is needed: another transport does without it. */
export async function loadSdk(): Promise<Sdk> {
  try {
    return await import("@aws-sdk/client-kms");
  } catch (cause) {
    throw new ConfigurationError("client", loadingFailure(cause), { cause });
  }
}

/** What is wrong with the SDK: it is not there, or it was put into a bundle of a form in which it cannot run. */
export function loadingFailure(error: unknown): string {
  const [message = ""] = String(memberOf(error, "message")).split("\n");
  if (NOT_FOUND.test(message)) return "expected the peer dependency @aws-sdk/client-kms to be installed";
  const what = `expected @aws-sdk/client-kms to load, which failed with "${message}"`;
  if (!WITHOUT_COMMONJS.test(message)) return what;
  return `${what}: its CommonJS cannot run inside this bundle; bundle its ES modules (main fields "module,main"), or make it external`;
}

// Node's words, of CommonJS and of ES modules.
const NOT_FOUND = /^Cannot find (?:module|package) '@aws-sdk\/client-kms'/;

// esbuild's words, Node's for what a bundler has left as it was, and those of rolldown's CommonJS chunks that need each other.
const WITHOUT_COMMONJS =
  /^Dynamic require of|^(?:require|module|exports|__dirname|__filename) is not defined|require_\w+ is not a function/;
