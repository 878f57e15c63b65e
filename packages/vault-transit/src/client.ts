import { ConfigurationError } from "@signpost/core";
import {
  assertOptions,
  given,
  readEndpoint,
  readFlag,
  readText,
  type EndpointRules,
  type OptionNames,
  type ServiceEndpoint,
} from "@signpost/core/adapter";
import type { VaultTransitDispatcherLike } from "./api.ts";
import { authFromEnvironment, readAuth, type VaultTransitAuth } from "./auth.ts";
import { readEnvironment } from "./environment.ts";
import { parseNamespace } from "./key-name.ts";

/** Files for TLS. Each is read again for every new connection, so that they may be replaced while the process runs. */
export interface VaultTransitTlsOptions {
  /** Path of a PEM file with the certificates to trust, instead of Node's. Default `BAO_CACERT`, `VAULT_CACERT`. */
  readonly caFile?: string | undefined;
  /** Path of a PEM file with the client's certificate. Default `BAO_CLIENT_CERT`, `VAULT_CLIENT_CERT`. */
  readonly certFile?: string | undefined;
  /** Path of a PEM file with the certificate's private key. Default `BAO_CLIENT_KEY`, `VAULT_CLIENT_KEY`. */
  readonly keyFile?: string | undefined;
  /**
   * The name that the server's certificate must have. Default `BAO_TLS_SERVER_NAME`, `VAULT_TLS_SERVER_NAME`, otherwise
   * the host of the address.
   */
  readonly serverName?: string | undefined;
}

/** How to reach the server. */
export interface VaultTransitConnectionOptions {
  /**
   * Address of the server: `https://HOST[:PORT]`, or `http://HOST:PORT` on the loopback interface. Default `BAO_ADDR`,
   * `VAULT_ADDR`.
   */
  readonly address?: string | undefined;
  /**
   * Addresses of other nodes of the cluster. If a standby redirects to the active node, the call and its token are sent
   * there only if it is one of these. Default none.
   */
  readonly clusterAddresses?: readonly string[] | undefined;
  /** Accepts plain http to any host. Tokens are then sent unencrypted. Default false. */
  readonly allowInsecureAddress?: boolean | undefined;
  /** Namespace of the Transit engine. Default `BAO_NAMESPACE`, `VAULT_NAMESPACE`. */
  readonly namespace?: string | undefined;
  /** How to get a token. Default: the token in `BAO_TOKEN`, `VAULT_TOKEN`. */
  readonly auth?: VaultTransitAuth | undefined;
  /** Files and the server's name for TLS. Default: from the environment. */
  readonly tls?: VaultTransitTlsOptions | undefined;
  /**
   * Your own undici dispatcher, for a proxy or other TLS settings. It is used unchanged, and `close()` does not close it.
   * Not allowed together with `tls`. Default: the adapter makes an `Agent`.
   */
  readonly dispatcher?: VaultTransitDispatcherLike | undefined;
}

export const CONNECTION_OPTIONS: OptionNames<VaultTransitConnectionOptions> = {
  address: true,
  clusterAddresses: true,
  allowInsecureAddress: true,
  namespace: true,
  auth: true,
  tls: true,
  dispatcher: true,
};

const TLS_OPTIONS: OptionNames<VaultTransitTlsOptions> = {
  caFile: true,
  certFile: true,
  keyFile: true,
  serverName: true,
};

/** The options, after the environment. */
export interface Settings {
  readonly address: ServiceEndpoint;
  /** Where a redirect may lead to, `address` included. Scheme, host and port. */
  readonly origins: ReadonlySet<string>;
  readonly namespace: string | undefined;
  readonly auth: VaultTransitAuth;
  readonly tls: VaultTransitTlsOptions;
  readonly dispatcher: VaultTransitDispatcherLike | undefined;
  /** Notes for the operator about what the environment decides. */
  readonly notes: readonly string[];
}

/** Checks the options alone. Refuses conflicting ones before anything is opened. */
export function checkConnectionOptions(options: VaultTransitConnectionOptions): void {
  const { clusterAddresses = [], namespace, auth, tls, dispatcher } = options;
  const rules = rulesOf(options);
  if (options.address !== undefined) readEndpoint("address", options.address, rules);
  if (!Array.isArray(clusterAddresses)) {
    throw new ConfigurationError("clusterAddresses", `expected an array, got ${given(clusterAddresses)}`);
  }
  clusterAddresses.forEach((address, index) => readEndpoint(`clusterAddresses[${index}]`, address, rules));
  if (namespace !== undefined) parseNamespace("namespace", namespace);
  if (auth !== undefined) readAuth(auth);
  if (tls !== undefined) readTls(tls);
  if (dispatcher === undefined) return;
  if (typeof dispatcher?.request !== "function") {
    throw new ConfigurationError("dispatcher", `expected an undici dispatcher, got ${given(dispatcher)}`);
  }
  if (tls !== undefined) throw new ConfigurationError("tls", "not allowed together with dispatcher, which has its own");
}

/** The settings in force. An option replaces the variable of the environment. */
export function readConnectionOptions(options: VaultTransitConnectionOptions): Settings {
  checkConnectionOptions(options);
  const { dispatcher } = options;
  const rules = rulesOf(options);
  const address = addressOf(options);
  const origins = (options.clusterAddresses ?? []).map((other) => readEndpoint("clusterAddresses", other, rules).url);
  const namespace = namespaceOf(options.namespace);
  const auth = options.auth === undefined ? authFromEnvironment() : readAuth(options.auth);
  if (auth === undefined) {
    throw new ConfigurationError("auth", "expected a way to get a token, or a token in VAULT_TOKEN or BAO_TOKEN");
  }
  return {
    address,
    origins: new Set([address.url, ...origins]),
    namespace,
    auth,
    tls: dispatcher === undefined ? tlsInForce(options.tls ?? {}) : {},
    dispatcher,
    notes: [
      ...fromEnvironment("address", options.address, "ADDR", address.url),
      ...fromEnvironment("namespace", options.namespace, "NAMESPACE", namespace),
    ],
  };
}

/** A stale variable selects a key of the same name at another place, and the key URI names neither. */
function fromEnvironment(what: string, given: unknown, name: string, value: string | undefined): readonly string[] {
  const variable = given === undefined ? readEnvironment(name) : undefined;
  return variable === undefined || value === undefined ? [] : [`${what} ${value}, from ${variable.name}`];
}

function rulesOf({ allowInsecureAddress }: VaultTransitConnectionOptions): EndpointRules {
  const insecureOption = "allowInsecureAddress";
  return { allowInsecure: readFlag(insecureOption, allowInsecureAddress), insecureOption };
}

function addressOf(options: VaultTransitConnectionOptions): ServiceEndpoint {
  const rules = rulesOf(options);
  if (options.address !== undefined) return readEndpoint("address", options.address, rules);
  const variable = readEnvironment("ADDR");
  if (variable !== undefined) return readEndpoint(variable.name, variable.value, rules);
  throw new ConfigurationError("address", "expected the server's address, or one in VAULT_ADDR or BAO_ADDR");
}

function namespaceOf(given: string | undefined): string | undefined {
  if (given !== undefined) return parseNamespace("namespace", given);
  const variable = readEnvironment("NAMESPACE");
  return variable === undefined ? undefined : parseNamespace(variable.name, variable.value);
}

function readTls(tls: VaultTransitTlsOptions): void {
  assertOptions("tls", tls, TLS_OPTIONS);
  for (const name of ["caFile", "certFile", "keyFile", "serverName"] as const) {
    if (tls[name] !== undefined) readText(`tls.${name}`, tls[name]);
  }
}

function tlsInForce(tls: VaultTransitTlsOptions): VaultTransitTlsOptions {
  const found = {
    caFile: tls.caFile ?? readEnvironment("CACERT")?.value,
    certFile: tls.certFile ?? readEnvironment("CLIENT_CERT")?.value,
    keyFile: tls.keyFile ?? readEnvironment("CLIENT_KEY")?.value,
    serverName: tls.serverName ?? readEnvironment("TLS_SERVER_NAME")?.value,
  };
  if ((found.certFile === undefined) !== (found.keyFile === undefined)) {
    const missing = found.certFile === undefined ? "certFile" : "keyFile";
    throw new ConfigurationError(`tls.${missing}`, "expected certFile and keyFile together");
  }
  return found;
}
