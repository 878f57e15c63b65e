// Structural types: what a caller may pass in place of what the adapter makes, and the few calls of the service.

/** Options of one call. The call must settle soon after its signal aborts. */
export interface AzureKeyVaultCallOptions {
  /** Aborts when the attempt has timed out, and when the caller aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Input of the call that reads a key. */
export interface AzureKeyVaultGetKeyInput {
  /** Name of the key. */
  readonly key: string;
  /** Version of the key. Undefined: the latest. */
  readonly keyVersion?: string | undefined;
}

/** Input of the call that signs. */
export interface AzureKeyVaultSignInput {
  /** Name of the key. */
  readonly key: string;
  /** Version of the key. */
  readonly keyVersion: string;
  /** The algorithm. */
  readonly alg: "ES256";
  /** A SHA-256 digest, 32 bytes in base64url without padding. */
  readonly value: string;
}

/** Input of the call that lists the versions of a key. */
export interface AzureKeyVaultListInput {
  /** Name of the key. */
  readonly key: string;
  /**
   * The `nextLink` of the page before, whose host was checked. Send its path and query to the vault, because an emulator may
   * call itself by another host or port. Undefined: the first page.
   */
  readonly nextLink?: string | undefined;
}

/**
 * The three calls of the service. Implement this to use another transport. Each call makes one attempt, and resolves with
 * the JSON of the answer, which the adapter checks. It rejects with an error whose `statusCode` is the HTTP status, `code`
 * the service's error code (`Forbidden`) and `innerCode` the code in `innererror` (`ForbiddenByRbac`), or whose `code` is the
 * code of a system error (`ECONNRESET`).
 *
 * @example
 * ```ts
 * import { openAzureKeyVaultSigner, type AzureKeyVaultApi } from "@signpost/azure-key-vault";
 *
 * declare const api: AzureKeyVaultApi;
 * const signer = await openAzureKeyVaultSigner({ key: "https://op.vault.azure.net/keys/id-token", api });
 * ```
 */
export interface AzureKeyVaultApi {
  /** `GET /keys/KEY/VERSION`: called when a signer opens without its public key. */
  getKey(input: AzureKeyVaultGetKeyInput, options: AzureKeyVaultCallOptions): Promise<unknown>;
  /** `POST /keys/KEY/VERSION/sign`: one call for each signature. */
  sign(input: AzureKeyVaultSignInput, options: AzureKeyVaultCallOptions): Promise<unknown>;
  /** `GET /keys/KEY/versions`: one call for each page. Only `azureKeyVaultKeys` makes it. */
  listKeyVersions(input: AzureKeyVaultListInput, options: AzureKeyVaultCallOptions): Promise<unknown>;
}

/** An access token of Microsoft Entra ID. */
export interface AzureKeyVaultAccessToken {
  /** The token. */
  readonly token: string;
  /** When it ends. Milliseconds since the epoch. */
  readonly expiresOnTimestamp: number;
  /** When a new one should be requested, while this one is still used. Milliseconds since the epoch. Default: none. */
  readonly refreshAfterTimestamp?: number | undefined;
}

/** Options that a credential gets. */
export interface AzureKeyVaultTokenOptions {
  /** Aborts after 10 seconds, and when the signer closes. */
  readonly abortSignal: AbortSignal;
  /** The claims that the service asked for (continuous access evaluation). JSON. */
  readonly claims?: string;
  /** The tenant of the vault, if the service named it in a challenge. */
  readonly tenantId?: string;
  /** True: the adapter answers a challenge that asks for claims. */
  readonly enableCae: boolean;
}

/** The part of a credential of `@azure/identity` that is used. Each of them fits. */
export interface AzureKeyVaultCredentialLike {
  /** Gets a token for one scope. */
  getToken(scopes: string, options: AzureKeyVaultTokenOptions): Promise<AzureKeyVaultAccessToken | null>;
}

/** A function in place of a credential. A token that it returns as a string is used until the service refuses it. */
export type AzureKeyVaultTokenFunction = (
  scope: string,
  options: AzureKeyVaultTokenOptions,
) => string | AzureKeyVaultAccessToken | null | Promise<string | AzureKeyVaultAccessToken | null>;

/** One HTTP request. */
export interface AzureKeyVaultHttpRequest {
  /** Scheme, host and port: `https://op.vault.azure.net`. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** POST to sign, GET for the other calls. */
  readonly method: "GET" | "POST";
  /** Contain the token. */
  readonly headers: Record<string, string>;
  /** JSON with a digest. */
  readonly body?: string;
  /** Aborts when the attempt has timed out, and when the caller aborts. */
  readonly signal: AbortSignal;
}

/** One HTTP response. Redirects are not followed. */
export interface AzureKeyVaultHttpResponse {
  /** Status code. */
  readonly statusCode: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** At most 64 KiB of it are read for a signature, and 2 MiB for the other calls. */
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * The part of an undici `Dispatcher` that is used.
 *
 * @example
 * ```ts
 * import { openAzureKeyVaultSigner, type AzureKeyVaultDispatcherLike } from "@signpost/azure-key-vault";
 *
 * declare const dispatcher: AzureKeyVaultDispatcherLike; // new ProxyAgent("http://proxy.example:3128")
 * const key = "https://op.vault.azure.net/keys/id-token";
 * const signer = await openAzureKeyVaultSigner({ key, dispatcher });
 * ```
 */
export interface AzureKeyVaultDispatcherLike {
  /** Makes one request, and settles soon after its signal aborts. */
  request(options: AzureKeyVaultHttpRequest): Promise<AzureKeyVaultHttpResponse>;
}
