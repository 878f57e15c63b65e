import { readFile } from "node:fs/promises";
import { ConfigurationError, type AdapterOpenOptions, type Signer, type SignerAdapter } from "@signpost/core";
import { endedError } from "@signpost/core/adapter";
import { openKey, openLocalSigner } from "./open.ts";
import { privateKeyObject } from "./private-key.ts";

const PREFIX = "local:";

/**
 * Key URIs of this adapter: `local:path/to/key.pem` (relative to the working directory, the path as it is,
 * nothing decoded), and `local:` alone for a new key that is gone with the process.
 *
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { local } from "@signpost/local";
 *
 * await using signer = await openSigner("local:", [local()]);
 * ```
 */
export function local(): SignerAdapter {
  return { scheme: "local", open: openLocalUri };
}

async function openLocalUri(uri: string, { policy, signal }: AdapterOpenOptions = {}): Promise<Signer> {
  if (!uri.startsWith(PREFIX)) throw new ConfigurationError("uri", `expected a key URI that begins with ${PREFIX}`);
  if (signal?.aborted === true) throw endedError(signal.reason);
  const path = uri.slice(PREFIX.length);
  if (path === "") return openLocalSigner({ policy });
  return openKey(privateKeyObject(await readPem(path, signal)), uri, policy);
}

async function readPem(path: string, signal: AbortSignal | undefined): Promise<string> {
  try {
    return await readFile(path, { encoding: "utf8", signal });
  } catch (cause) {
    if (signal?.aborted === true) throw endedError(signal.reason);
    throw new ConfigurationError("uri", `expected ${PREFIX} and the path of a readable PEM file`, { cause });
  }
}
