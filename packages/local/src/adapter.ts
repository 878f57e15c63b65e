import { ConfigurationError, SignpostError, type SignerAdapter } from "@signpost/core";
import {
  createAdapter,
  endedError,
  memberOf,
  openingBounds,
  readPolicy,
  readRegularFile,
  withinDeadline,
  type OpeningBounds,
} from "@signpost/core/adapter";
import { HEDGING, openKey, openLocalSigner } from "./open.ts";
import { privateKeyObject } from "./private-key.ts";
import { parseKeyUri } from "./uri.ts";

/**
 * The adapter for key URIs like `local:path/to/key.pem`. The path is relative to the working directory and used as it is,
 * without decoding. `local:` alone creates a new key that exists only in this process. There are no options.
 *
 * @example
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { local } from "@signpost/local";
 *
 * const signer = await openSigner("local:", [local()]);
 * ```
 */
export function local(): SignerAdapter {
  return createAdapter("local", async (uri, options) => {
    const path = parseKeyUri(uri);
    const policy = readPolicy(options.policy, HEDGING);
    const bounds = openingBounds({ policy, signal: options.signal });
    if (bounds.signal?.aborted === true) throw endedError(bounds.signal.reason);
    if (path === "") return openLocalSigner({ policy });
    return openKey(privateKeyObject(await readPem(path, bounds)), `local:${path}`, policy);
  });
}

/** A key has a few hundred bytes. A file longer than this is something else. */
const MAX_PEM_BYTES = 65_536;

async function readPem(path: string, { deadlineMs, signal }: OpeningBounds): Promise<string> {
  try {
    // The file may be on a file system that hangs.
    const bytes = await withinDeadline(() => readRegularFile("uri", path, MAX_PEM_BYTES), { deadlineMs, signal });
    return new TextDecoder().decode(bytes);
  } catch (cause) {
    if (cause instanceof SignpostError) throw cause;
    // Without the cause, which contains the path. The caller may have passed the key itself by mistake.
    const code = String(memberOf(cause, "code"));
    throw new ConfigurationError("uri", `expected local: followed by the path of a readable PEM file (${code})`);
  }
}
