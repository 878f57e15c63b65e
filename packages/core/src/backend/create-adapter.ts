import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import type { AdapterOpenOptions, Signer, SignerAdapter } from "../signer/contract.ts";

const OPEN_OPTIONS: OptionNames<AdapterOpenOptions> = { policy: true, signal: true };

/**
 * An adapter for the key URIs of one scheme. Its `open` refuses unknown options, as `openSigner` does.
 *
 * `scheme` is in lower case, without a colon. The function `open` reads the URI. Its options are only the policy and the
 * signal.
 *
 * @example
 * ```ts
 * import type { Signer, SignerAdapter } from "@signpost/core";
 * import { createAdapter, type AdapterSignerOptions } from "@signpost/core/adapter";
 *
 * declare function openExampleSigner(key: string, options: AdapterSignerOptions): Promise<Signer>;
 *
 * export function example(): SignerAdapter {
 *   return createAdapter("example", (uri, options) => openExampleSigner(uri.slice("example:".length), options));
 * }
 * ```
 */
export function createAdapter(
  scheme: string,
  open: (uri: string, options: AdapterOpenOptions) => Promise<Signer>,
): SignerAdapter {
  return {
    scheme,
    open: async (uri, options = {}) => {
      assertOptions("options", options, OPEN_OPTIONS);
      const { policy, signal } = options;
      return open(uri, { policy, signal });
    },
  };
}
