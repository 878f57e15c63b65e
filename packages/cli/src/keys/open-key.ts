import { openSigner, type GuardedSigner, type GuardPolicy } from "@signpost/core";
import type { CliContext } from "../program/context.ts";
import { keyUriScheme, loadAdapter, type AdapterOptions } from "./adapters.ts";
import { inOurWords } from "./pin-refusal.ts";
import { pinAsker, pinOptions, pinPlace, type AskPin } from "./secrets.ts";

/** Opens the key of a URI. The caller closes it. */
export type OpenKey = (uri: string) => Promise<GuardedSigner>;

/** Opens keys with the adapters' options of a configuration, by scheme. The default policy is that of the adapter. */
export function keyOpener(
  context: CliContext,
  adapters: Readonly<Record<string, AdapterOptions>> = {},
  ask: AskPin = pinAsker(context),
  policy?: GuardPolicy,
): OpenKey {
  return async (uri) => {
    const scheme = keyUriScheme(uri);
    const options = adapters[scheme] ?? {};
    const secrets = scheme === "pkcs11" ? await pinOptions(uri, options, context, ask) : {};
    const own = scheme === "pkcs11" ? inChild(options) : options;
    const adapter = await loadAdapter(scheme, { ...own, ...secrets }, context.cwd);
    const opening = (): Promise<GuardedSigner> => openSigner(uri, [adapter], { policy, signal: context.signal });
    return context.during("Opening the key", opening).catch((error: unknown) => {
      throw scheme === "pkcs11" ? inOurWords(error, pinPlace(uri, options)) : error;
    });
  };
}

/** A module that hangs must not hang the command: no program ends before the native calls of its threads. */
export function inChild(options: AdapterOptions): AdapterOptions {
  return { ...options, isolation: options["isolation"] ?? "process" };
}

/** Opens a key for some work, and closes it afterward. */
export async function withKey<T>(open: OpenKey, uri: string, work: (key: GuardedSigner) => Promise<T>): Promise<T> {
  const key = await open(uri);
  try {
    return await work(key);
  } finally {
    await key.close();
  }
}
