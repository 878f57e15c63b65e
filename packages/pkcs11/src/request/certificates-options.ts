import { ConfigurationError, type JwkInput, type P256PublicJwk } from "@signpost/core";
import { assertOptions, readText, type OptionNames } from "@signpost/core/adapter";
import type { PrivateKeyQuery, TokenRequest } from "./key-request.ts";
import { requireModulePath } from "./module-path.ts";
import { readKeySettings, readSelection, type KeySettings, type Pkcs11Isolation } from "./options.ts";
import { moduleOf, readAllowedModules, readModules } from "./uri-module.ts";
import { parsePkcs11Uri } from "./uri.ts";

/**
 * Options of `pkcs11Certificates`. The token must match each of `token`, `serial` and `slotId` that is given, and exactly one
 * must match.
 */
export interface Pkcs11CertificatesOptions {
  /**
   * A URI of RFC 7512 for the key or its certificate: `signer.uri`, for instance. Its PIN is never read. Not together with
   * `token`, `serial`, `slotId`, `object` and `id`. Default: these options.
   */
  readonly uri?: string | undefined;
  /** Path of the module. Required, unless the URI has a `module-path`, which takes precedence. */
  readonly module?: string | undefined;
  /** Paths of modules by `module-name`, for a URI that has one. Default: no names. */
  readonly modules?: Readonly<Record<string, string>> | undefined;
  /** Paths of the modules that may be loaded. Symbolic links are followed on both sides. Default: any path. */
  readonly allowedModules?: readonly string[] | undefined;
  /** Label of the token. Trailing padding is ignored. Default: any. */
  readonly token?: string | undefined;
  /** Serial number of the token. Default: any. */
  readonly serial?: string | undefined;
  /** Number of the slot, 0 to 2^64 - 1: a number below 2^53, a bigint, or decimal text. Default: any. */
  readonly slotId?: number | bigint | string | undefined;
  /** CKA_LABEL of the key or of its certificate, not empty: text or bytes. Default: any. */
  readonly object?: string | Uint8Array | undefined;
  /** CKA_ID of the key and its certificate: opaque bytes, not empty. Default: any. */
  readonly id?: Uint8Array | undefined;
  /** The public key that the leaf must have, as JWK or SPKI PEM. It alone then selects the leaf. Default: any. */
  readonly publicKey?: JwkInput | string | undefined;
  /** Text for C_Initialize, as for a signer. Default: none. */
  readonly libraryParameters?: string | undefined;
  /** Where the module runs. The same as for the signers of this module. Default `thread`. */
  readonly isolation?: Pkcs11Isolation | undefined;
  /** Time limit. Milliseconds, 1 to 2147483647, default 10000. */
  readonly openDeadlineMs?: number | undefined;
  /** Aborts the reading. Default: only the deadline ends it. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: OptionNames<Pkcs11CertificatesOptions> = {
  uri: true,
  module: true,
  modules: true,
  allowedModules: true,
  token: true,
  serial: true,
  slotId: true,
  object: true,
  id: true,
  publicKey: true,
  libraryParameters: true,
  isolation: true,
  openDeadlineMs: true,
  signal: true,
};

/** Which certificates to read. */
export interface CertificatesRequest {
  /** The module's path is as the caller gave it, not yet resolved. */
  readonly request: TokenRequest;
  readonly query: PrivateKeyQuery;
  readonly publicKey: P256PublicJwk | undefined;
  readonly allowedModules: readonly string[] | undefined;
  readonly settings: Pick<KeySettings, "isolation" | "openDeadlineMs">;
}

/** The options of `pkcs11Certificates`, checked. */
export function readCertificatesOptions(options: Pkcs11CertificatesOptions): CertificatesRequest {
  assertOptions("options", options, OPTIONS);
  const { publicKey, openDeadlineMs, libraryParameters, isolation } = options;
  const settings = readKeySettings({ publicKey, openDeadlineMs, libraryParameters, isolation });
  const { module, selector, query } = options.uri === undefined ? ofOptions(options) : ofUri(options.uri, options);
  return {
    request: { module: requireModulePath(module), libraryParameters: settings.libraryParameters, selector },
    query,
    publicKey: settings.publicKey,
    allowedModules: readAllowedModules(options.allowedModules),
    settings,
  };
}

type Selected = ReturnType<typeof readSelection> & { readonly module: unknown };

function ofOptions(options: Pkcs11CertificatesOptions): Selected {
  return { module: options.module, ...readSelection(options) };
}

function ofUri(uri: string, options: Pkcs11CertificatesOptions): Selected {
  for (const name of ["token", "serial", "slotId", "object", "id"] as const) {
    if (options[name] !== undefined) throw new ConfigurationError(name, "not allowed together with uri");
  }
  const parsed = parsePkcs11Uri(uri, "cert");
  const module = options.module === undefined ? undefined : readText("module", options.module);
  const { selector, query } = parsed;
  return { module: moduleOf(parsed, { module, modules: readModules(options.modules) }), selector, query };
}
