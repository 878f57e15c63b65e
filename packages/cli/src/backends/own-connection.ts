import type { AdapterOptions } from "../keys/adapters.ts";

/** Options with which a configuration that is code gives an adapter its own connection. */
const OPTIONS = ["client", "api", "dispatcher"] as const;

/**
 * The option with the caller's own connection. The calls of this program that signing does not need have the credentials of the
 * environment, so they would reach another account, or go around a proxy. Undefined if there is none.
 */
export function ownConnection(options: AdapterOptions): string | undefined {
  return OPTIONS.find((name) => options[name] !== undefined);
}
