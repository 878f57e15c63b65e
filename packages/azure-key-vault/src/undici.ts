import type * as undici from "undici";
import { ConfigurationError } from "@signpost/core";
import { textMember } from "@signpost/core/adapter";

/**
 * Loads undici when a dispatcher is made. Its file is named, because Bun has a module "undici" of another kind, whose dispatchers
 * cannot make requests.
 */
export async function loadUndici(): Promise<typeof undici> {
  try {
    const loaded = await import("undici/index.js");
    // In some bundles, code that failed to load is there the next time, but empty.
    if (typeof loaded.Agent !== "function") throw new Error("Agent is missing");
    return loaded;
  } catch (cause) {
    throw new ConfigurationError("undici", loadingFailure(cause), { cause });
  }
}

/** Says why undici did not load: it is missing, or it is in a bundle in which it cannot run. */
export function loadingFailure(error: unknown): string {
  const [message = ""] = textMember(error, "message").split("\n");
  if (NOT_FOUND.test(message)) return "expected the package undici to be installed where the bundle runs";
  const what = `expected the package undici to load, but it failed with "${message}"`;
  if (!WITHOUT_COMMONJS.test(message)) return what;
  return `${what}: its CommonJS cannot run inside this bundle; make undici external, or bundle to CommonJS`;
}

// Node's message, for CommonJS and for ES modules.
const NOT_FOUND = /^Cannot find (?:module|package) 'undici(?:\/index\.js)?'/;

/** The messages of esbuild, and of Node for code that a bundler left unchanged. */
export const WITHOUT_COMMONJS: RegExp =
  /^Dynamic require of|^(?:require|module|exports|__dirname|__filename) is not defined|^\w+ is missing$/;
