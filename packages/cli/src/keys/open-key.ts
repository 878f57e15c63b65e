import { openSigner, type GuardedSigner } from "@signpost/core";
import type { CliContext } from "../program/context.ts";
import { keyUriScheme, loadAdapter, type AdapterOptions } from "./adapters.ts";
import { secretOptions } from "./secrets.ts";

/** Opens the key of a URI. The caller closes it. */
export async function openKey(uri: string, context: CliContext, options: AdapterOptions = {}): Promise<GuardedSigner> {
  const scheme = keyUriScheme(uri);
  const secrets = await secretOptions(scheme, uri, context);
  const adapter = await loadAdapter(scheme, { ...options, ...secrets }, context.cwd);
  return context.during("Opening the key", () => openSigner(uri, [adapter], { signal: context.signal }));
}

/** Opens the key of a URI for some work, and closes it afterward. */
export async function withKey<T>(
  uri: string,
  context: CliContext,
  work: (key: GuardedSigner) => Promise<T>,
): Promise<T> {
  const key = await openKey(uri, context);
  try {
    return await work(key);
  } finally {
    await key.close();
  }
}
