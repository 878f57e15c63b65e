import { ConfigurationError, EncodingError } from "../errors.ts";

/**
 * Reads the value of an option. An `EncodingError` becomes a `ConfigurationError` for the option, since the configuration is at
 * fault. Other errors are thrown as they are.
 *
 * @example
 * ```ts
 * import { asConfigured, publicJwkFrom, type PublicJwk } from "@signpost/core/adapter";
 *
 * export const readPublicKey = (value: unknown): PublicJwk => asConfigured("publicKey", () => publicJwkFrom(value, "publicKey"));
 * ```
 */
export function asConfigured<Result>(argument: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof EncodingError)) throw cause;
    const prefix = `${argument}: `;
    const problem = cause.message.startsWith(prefix) ? cause.message.slice(prefix.length) : cause.message;
    throw new ConfigurationError(argument, problem, { cause });
  }
}
