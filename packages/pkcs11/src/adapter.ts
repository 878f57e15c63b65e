import { isUint8Array } from "node:util/types";
import type { AdapterOpenOptions, Signer, SignerAdapter } from "@signpost/core";
import { assertOptions, readCallback, readFlag, readText, type OptionNames } from "@signpost/core/adapter";
import { openKeySigner } from "./open.ts";
import {
  KEY_OPTIONS,
  type KeySettings,
  type Pkcs11KeyOptions,
  readKeyRequest,
  readKeySettings,
} from "./request/options.ts";
import { pinFor, type PinOptions } from "./request/pin-source.ts";
import { pinSource, type Pkcs11Pin } from "./request/pin.ts";
import { moduleOf, readAllowedModules, readModules, type ModuleNames } from "./request/uri-module.ts";
import { parsePkcs11Uri } from "./request/uri.ts";

/** What `pkcs11:` URIs leave to the application. */
export interface Pkcs11AdapterOptions extends Pkcs11KeyOptions {
  /** Path of the module for URIs without `module-path`, which takes precedence. Default: such a URI is refused. */
  readonly module?: string | undefined;
  /** Paths of modules by `module-name`, for URIs that have one. Default: no names. */
  readonly modules?: Readonly<Record<string, string>> | undefined;
  /**
   * Paths of the modules that may be loaded, whether `module`, `modules` or a URI names them. Symbolic links are followed
   * on both sides. Relative paths start at the working directory. Default: any path, so URIs must come from a source that
   * you trust as much as your configuration.
   */
  readonly allowedModules?: readonly string[] | undefined;
  /** The PIN for URIs without `pin-source`. Default: such a URI is refused. */
  readonly pin?: Pkcs11Pin | undefined;
  /**
   * Resolves a `pin-source` that is not a `file:` URI. Called with its value on every new login. Default: such a URI is
   * refused.
   */
  readonly pinSource?: ((source: string) => Promise<string | Uint8Array> | string | Uint8Array) | undefined;
  /** Accepts `pin-value`, a PIN in the URI itself. Default `false`. */
  readonly allowPinValue?: boolean | undefined;
}

const ADAPTER_OPTIONS: OptionNames<Pkcs11AdapterOptions> = {
  ...KEY_OPTIONS,
  module: true,
  modules: true,
  allowedModules: true,
  pin: true,
  pinSource: true,
  allowPinValue: true,
};
const OPEN_OPTIONS: OptionNames<AdapterOpenOptions> = { policy: true, signal: true };

/** `Pkcs11AdapterOptions`, checked. */
interface AdapterSettings extends KeySettings, PinOptions, ModuleNames {
  readonly allowedModules: readonly string[] | undefined;
}

/**
 * Opens signers by PKCS #11 URI (RFC 7512), for instance
 * `pkcs11:token=op;object=sig-2026?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=file:/run/secrets/pin`.
 * Its `open` rejects as `openPkcs11Signer` does, and with ConfigurationError for a URI.
 *
 * @throws ConfigurationError for an option.
 * @example
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { pkcs11 } from "@signpost/pkcs11";
 *
 * const uri = "pkcs11:token=op;object=sig-2026?pin-source=file:/run/secrets/pin";
 * const signer = await openSigner(uri, [pkcs11({ module: "/usr/lib/softhsm/libsofthsm2.so" })]);
 * ```
 */
export function pkcs11(options: Pkcs11AdapterOptions = {}): SignerAdapter {
  const settings = readAdapterOptions(options);
  return {
    scheme: "pkcs11",
    open: (uri: string, open: AdapterOpenOptions = {}): Promise<Signer> => openUri(uri, settings, open),
  };
}

function readAdapterOptions(options: Pkcs11AdapterOptions): AdapterSettings {
  assertOptions("options", options, ADAPTER_OPTIONS);
  const { module, pin } = options;
  // Read only for its checks.
  if (pin !== undefined) pinSource(pin);
  return {
    ...readKeySettings(options),
    module: module === undefined ? undefined : readText("module", module),
    modules: readModules(options.modules),
    allowedModules: readAllowedModules(options.allowedModules),
    // A copy, since the caller may erase its buffer before a URI is opened.
    pin: isUint8Array(pin) ? new Uint8Array(pin) : pin,
    pinSource: readCallback("pinSource", options.pinSource),
    allowPinValue: readFlag("allowPinValue", options.allowPinValue),
  };
}

async function openUri(uri: string, settings: AdapterSettings, open: AdapterOpenOptions): Promise<Signer> {
  assertOptions("options", open, OPEN_OPTIONS);
  const { policy, signal } = open;
  const parsed = parsePkcs11Uri(uri);
  const pin = pinFor(parsed, settings);
  const { selector, query } = parsed;
  const module = moduleOf(parsed, settings);
  const request = readKeyRequest(settings, { module, pin, selector, query, policy });
  return openKeySigner({ request, allowedModules: settings.allowedModules, settings }, { policy, signal });
}
