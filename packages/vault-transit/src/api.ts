// Types for the part of undici that is used. Its `Agent`, `Pool` and `ProxyAgent` fit, and so does any other object with
// this call.

/** One HTTP request. */
export interface VaultTransitHttpRequest {
  /** Scheme, host and port: `https://vault.example:8200`. */
  readonly origin: string;
  /** Path, which begins with `/v1/`. */
  readonly path: string;
  /** GET to read a key, POST for all other calls. */
  readonly method: "GET" | "POST";
  /** Contain the token. */
  readonly headers: Record<string, string>;
  /** JSON. It contains a digest, or the credentials of a login. */
  readonly body?: string;
  /** Aborts when the attempt has timed out, and when the caller aborts. */
  readonly signal: AbortSignal;
}

/** One HTTP response. Redirects are not followed. */
export interface VaultTransitHttpResponse {
  /** Status code. */
  readonly statusCode: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** At most 64 KiB of it are read. */
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * The part of an undici `Dispatcher` that is used.
 *
 * @example
 * ```ts
 * import { openVaultTransitSigner, type VaultTransitDispatcherLike } from "@signpost/vault-transit";
 *
 * declare const dispatcher: VaultTransitDispatcherLike; // new ProxyAgent("http://proxy.example:3128")
 * const signer = await openVaultTransitSigner({ address: "https://vault.example:8200", key: "op", dispatcher });
 * ```
 */
export interface VaultTransitDispatcherLike {
  /** Makes one request, and settles soon after its signal aborts. */
  request(options: VaultTransitHttpRequest): Promise<VaultTransitHttpResponse>;
}

/** A call of the server's HTTP API. */
export interface ApiRequest {
  readonly method: "GET" | "POST";
  /** Without `/v1/`. */
  readonly path: string;
  readonly body?: object | undefined;
  /** Texts in the body that must not be shown. An answer that repeats one is not shown either. Default none. */
  readonly secrets?: readonly string[] | undefined;
  /** Default: the namespace of the connection. */
  readonly namespace?: string | undefined;
}
