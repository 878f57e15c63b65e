import { ConfigurationError, type JwksEndpoint } from "@signpost/core";
import { type DocumentKey, publishedKeys } from "@signpost/core/adapter";

/** A key, in the form of a row of the host's table `jwks`. */
export interface HostKey {
  readonly id: string;
  readonly publicKey: string;
  /** Reading it throws. */
  readonly privateKey: string;
  readonly createdAt: Date;
  readonly alg: unknown;
  readonly crv: unknown;
}

/** The published signing keys, which the host verifies its own tokens with. */
export function hostKeys(endpoint: Pick<JwksEndpoint, "respond">): HostKey[] {
  return publishedKeys(endpoint)
    .filter(({ use }) => use !== "enc")
    .map((key) => ({
      id: String(key["kid"]),
      publicKey: JSON.stringify(key),
      get privateKey(): string {
        throw noHostKeys();
      },
      createdAt: new Date(0),
      alg: key["alg"],
      crv: key["crv"],
    }));
}

/** Without its `jwt.sign`, the host would sign with a key from its database, which the endpoint does not publish. */
export function noHostKeys(): ConfigurationError {
  const problem =
    "the host asked for a private key: options that override `jwt` must repeat the plugin's own `jwt.sign`";
  return new ConfigurationError("jwt.sign", problem);
}

interface KeyDocument {
  readonly keys: readonly DocumentKey[];
}

/**
 * The result of the host's `getJwks`, with keys that are read each time. The host keeps this document for 5 minutes, and
 * would trust a revoked key for as long.
 */
export function withLiveKeys(result: unknown, endpoint: Pick<JwksEndpoint, "respond">): unknown {
  if (isDocument(result)) return liveDocument(endpoint);
  const { response }: { readonly response?: unknown } = Object(result);
  return isDocument(response) ? Object.assign(Object(result), { response: liveDocument(endpoint) }) : result;
}

function liveDocument(endpoint: Pick<JwksEndpoint, "respond">): KeyDocument {
  return {
    get keys() {
      // A copy, with its list of certificates, which callers may change.
      return publishedKeys(endpoint).map((key) => structuredClone(key));
    },
  };
}

function isDocument(value: unknown): value is KeyDocument {
  return typeof value === "object" && value !== null && Array.isArray((value as Partial<KeyDocument>).keys);
}
