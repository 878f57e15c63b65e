import { ConfigurationError } from "@signpost/core";
import {
  assertOptions,
  given,
  nameOpening,
  readText,
  type OpeningPlan,
  type OptionNames,
} from "@signpost/core/adapter";
import type {
  AzureKeyVaultApi,
  AzureKeyVaultCredentialLike,
  AzureKeyVaultDispatcherLike,
  AzureKeyVaultTokenFunction,
} from "./api.ts";
import { readCredential } from "./credential.ts";
import { createHttpApi, type HttpApi } from "./http-api.ts";
import { loadDefaultCredential } from "./identity.ts";
import type { KeyName } from "./key-name.ts";
import { formatKeyUri } from "./uri.ts";

/** Settings for TLS. */
export interface AzureKeyVaultTlsOptions {
  /**
   * Path of a PEM file with the certificates to trust, instead of Node's. It is read again for every new connection.
   * Default: none.
   */
  readonly caFile?: string | undefined;
  /** The name that the certificate of the vault must have. Default: the host of the vault. */
  readonly serverName?: string | undefined;
}

/** How to reach the vault. */
export interface AzureKeyVaultConnectionOptions {
  /**
   * A credential of `@azure/identity`, or a function that returns a token within 10 seconds. Default:
   * `DefaultAzureCredential`, if `@azure/identity` is installed.
   */
  readonly credential?: AzureKeyVaultCredentialLike | AzureKeyVaultTokenFunction | undefined;
  /**
   * Scope of the tokens, such as `https://vault.azure.net/.default`. Tokens of this scope are then sent to the host of the
   * vault, whatever it is. Default: the scope of the cloud that the host belongs to. For other hosts, the one that the vault
   * asks for, which must cover the host.
   */
  readonly scope?: string | undefined;
  /** Version of the service's API: `YYYY-MM-DD`, or `7.N`. Default `2025-07-01`. */
  readonly apiVersion?: string | undefined;
  /** A file and the server's name for TLS. Default: Node's certificates. */
  readonly tls?: AzureKeyVaultTlsOptions | undefined;
  /**
   * Your own undici dispatcher, for a proxy or other TLS settings. It is used unchanged, and `close()` does not close it.
   * Not allowed together with `tls`. Default: the adapter makes an `Agent`.
   */
  readonly dispatcher?: AzureKeyVaultDispatcherLike | undefined;
  /** Your own transport, instead of HTTPS and a credential. Not allowed together with the options above. Default: none. */
  readonly api?: AzureKeyVaultApi | undefined;
}

export const CONNECTION_OPTIONS: OptionNames<AzureKeyVaultConnectionOptions> = {
  credential: true,
  scope: true,
  apiVersion: true,
  tls: true,
  dispatcher: true,
  api: true,
};

const TLS_OPTIONS: OptionNames<AzureKeyVaultTlsOptions> = { caFile: true, serverName: true };

const API_VERSION = "2025-07-01";

/** The options, checked. */
export interface Settings {
  readonly credential: AzureKeyVaultCredentialLike | AzureKeyVaultTokenFunction | undefined;
  readonly scope: string | undefined;
  readonly apiVersion: string;
  readonly tls: AzureKeyVaultTlsOptions;
  readonly dispatcher: AzureKeyVaultDispatcherLike | undefined;
  readonly api: AzureKeyVaultApi | undefined;
}

/** Checks the options. Refuses conflicting ones before anything is opened. */
export function readConnectionOptions(options: AzureKeyVaultConnectionOptions): Settings {
  const { credential, scope, apiVersion, tls, dispatcher, api } = options;
  if (api !== undefined) readApi(options);
  if (credential !== undefined) readCredential(credential);
  if (tls !== undefined) readTls(tls);
  if (dispatcher !== undefined) readDispatcher(options);
  return {
    credential,
    scope: scope === undefined ? undefined : readScope(scope),
    apiVersion: apiVersion === undefined ? API_VERSION : readApiVersion(apiVersion),
    tls: { ...tls },
    dispatcher,
    api,
  };
}

function readApi(options: AzureKeyVaultConnectionOptions): void {
  const { api } = options;
  if ([api?.getKey, api?.sign, api?.listKeyVersions].some((call) => typeof call !== "function")) {
    const expected = "expected an object with the functions getKey, sign and listKeyVersions";
    throw new ConfigurationError("api", `${expected}, got ${given(api)}`);
  }
  for (const name of ["credential", "scope", "apiVersion", "tls", "dispatcher"] as const) {
    if (options[name] === undefined) continue;
    throw new ConfigurationError(name, "not allowed together with api, which has its own");
  }
}

function readDispatcher({ dispatcher, tls }: AzureKeyVaultConnectionOptions): void {
  if (typeof dispatcher?.request !== "function") {
    throw new ConfigurationError("dispatcher", `expected an undici dispatcher, got ${given(dispatcher)}`);
  }
  if (tls !== undefined) throw new ConfigurationError("tls", "not allowed together with dispatcher, which has its own");
}

function readTls(tls: AzureKeyVaultTlsOptions): void {
  assertOptions("tls", tls, TLS_OPTIONS);
  for (const name of ["caFile", "serverName"] as const) {
    if (tls[name] !== undefined) readText(`tls.${name}`, tls[name]);
  }
}

function readScope(scope: unknown): string {
  if (typeof scope === "string" && /^[\x21-\x7e]{1,1024}$/.test(scope)) return scope;
  throw new ConfigurationError(
    "scope",
    `expected a scope, such as https://vault.azure.net/.default, got ${given(scope)}`,
  );
}

function readApiVersion(version: unknown): string {
  if (typeof version === "string" && /^(?:7\.\d{1,2}|\d{4}-\d\d-\d\d)(?:-preview(?:\.\d{1,2})?)?$/.test(version)) {
    return version;
  }
  throw new ConfigurationError("apiVersion", `expected YYYY-MM-DD or 7.N, got ${given(version)}`);
}

/** Uses the caller's transport, or makes one. Sends nothing yet. */
export async function connect(name: KeyName, settings: Settings, plan: OpeningPlan): Promise<HttpApi> {
  const { api } = settings;
  if (api !== undefined) return { api, trouble: () => undefined, close: async () => {} };
  const credential = settings.credential ?? (await loadDefaultCredential());
  return createHttpApi(name.vault, { ...settings, credential }, plan).catch((error: unknown) => {
    throw nameOpening(error, formatKeyUri(name));
  });
}
