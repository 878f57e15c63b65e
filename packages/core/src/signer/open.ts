import { ConfigurationError } from "../errors.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { given } from "../given.ts";
import { readSignal } from "../options/read-values.ts";
import type { GuardedSigner, GuardPolicy, Signer, SignerAdapter } from "./contract.ts";
import { endedError } from "./endings.ts";
import { guardSigner } from "./guard.ts";
import { isGuarded } from "./mark.ts";
import { readPolicy } from "./policy.ts";
import { afterScheme, schemeOf } from "./scheme.ts";
import { untilAborted } from "./until-aborted.ts";

/** Options of `openSigner`. */
export interface OpenSignerOptions {
  /** Queue, attempts and deadline. Passed to the adapter, which has its own defaults. */
  readonly policy?: GuardPolicy | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

const OPEN_OPTIONS: OptionNames<OpenSignerOptions> = { policy: true, signal: true };

/**
 * Opens the signer with this key URI. The scheme of the URI, in upper or lower case, selects the adapter, which parses the
 * rest.
 *
 * @throws ConfigurationError if no adapter, or more than one, has the scheme. The message never contains the URI, which may
 * contain a PIN.
 * @example
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { local } from "@signpost/local";
 *
 * const signer = await openSigner("local:", [local()]);
 * ```
 */
export async function openSigner(
  uri: string,
  adapters: readonly SignerAdapter[],
  options: OpenSignerOptions = {},
): Promise<GuardedSigner> {
  assertOptions("options", options, OPEN_OPTIONS);
  if (!Array.isArray(adapters)) {
    throw new ConfigurationError("adapters", `expected a list of adapters, such as [local()], got ${given(adapters)}`);
  }
  const scheme = schemeOf(uri);
  for (const [index, candidate] of adapters.entries()) {
    if (typeof candidate?.scheme === "string" && typeof candidate.open === "function") continue;
    const hint = typeof candidate === "function" ? "; call it: local(), not local" : "";
    throw new ConfigurationError(`adapters[${index}]`, `expected an adapter, got ${given(candidate)}${hint}`);
  }
  if (Object.is(options.policy, false)) {
    throw new ConfigurationError(
      "policy",
      "expected an object, got false; to open a bare signer, use the adapter's own open function",
    );
  }
  const matching = adapters.filter((adapter) => adapter.scheme.toLowerCase() === scheme);
  const [adapter] = matching;
  if (adapter === undefined) {
    const schemes = adapters.map((candidate) => `${candidate.scheme}:`).join(", ");
    throw new ConfigurationError(
      "uri",
      `expected a key URI that starts with one of the adapters' schemes: ${schemes || "none given"}${typeof uri === "string" ? "" : `, got ${given(uri)}`}`,
    );
  }
  if (matching.length > 1)
    throw new ConfigurationError(
      "adapters",
      `expected one adapter for the scheme ${adapter.scheme}:, got ${matching.length}`,
    );
  // Before the adapter opens anything that would never be closed.
  const policy = readPolicy(options.policy);
  const signal = readSignal("signal", options.signal);
  // With the adapter's spelling of the scheme, so that adapters do not have to ignore case.
  const signer = await opened(adapter, `${adapter.scheme}:${afterScheme(uri, adapter.scheme)}`, { policy, signal });
  try {
    return isGuardedSigner(signer) ? signer : guardSigner(signer, policy);
  } catch (error) {
    // A signer from a custom adapter must not stay open.
    closeUnused(signer);
    throw error;
  }
}

/** A custom adapter may ignore its signal. The call rejects anyway, and a signer that arrives later is closed. */
async function opened(adapter: SignerAdapter, uri: string, options: OpenSignerOptions): Promise<Signer> {
  const { signal } = options;
  if (signal?.aborted === true) throw endedError(signal.reason);
  const opening = Promise.resolve(adapter.open(uri, options));
  try {
    return await untilAborted(opening, signal);
  } catch (error) {
    opening.then(closeUnused, () => undefined);
    throw error;
  }
}

function closeUnused(signer: Partial<Signer> | null | undefined): void {
  const close = async (): Promise<void> => signer?.close?.();
  close().catch(() => undefined);
}

function isGuardedSigner(signer: Signer): signer is GuardedSigner {
  return typeof signer === "object" && signer !== null && isGuarded(signer);
}
