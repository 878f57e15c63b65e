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
import { openKey, openLocalSigner } from "./open.ts";
import { privateKeyObject } from "./private-key.ts";
import { parseKeyUri } from "./uri.ts";

/**
 * Key URIs of this adapter: `local:path/to/key.pem` (relative to the working directory, the path as it is,
 * nothing decoded), and `local:` alone for a new key that is gone with the process. It takes no options.
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
    const policy = readPolicy(options.policy);
    const bounds = openingBounds({ policy, signal: options.signal });
    if (bounds.signal?.aborted === true) throw endedError(bounds.signal.reason);
    if (path === "") return openLocalSigner({ policy });
    return openKey(privateKeyObject(await readPem(path, bounds)), `local:${path}`, policy);
  });
}

/** A key has some hundred. What is longer is another file. */
const MAX_PEM_BYTES = 65_536;

async function readPem(path: string, { deadlineMs, signal }: OpeningBounds): Promise<string> {
  try {
    // It may lie on a file system that hangs.
    const bytes = await withinDeadline(() => readRegularFile("uri", path, MAX_PEM_BYTES), { deadlineMs, signal });
    return new TextDecoder().decode(bytes);
  } catch (cause) {
    if (cause instanceof SignpostError) throw cause;
    // Without the cause, which repeats the path: it may be the key itself, by mistake.
    const code = String(memberOf(cause, "code"));
    throw new ConfigurationError("uri", `expected local: and the path of a readable PEM file (${code})`);
  }
}
