import { type AdapterOpenOptions, ConfigurationError, type Signer, type SignerAdapter } from "@signpost/core";
import { openKeySigner } from "./open.ts";
import { type Pkcs11KeyOptions, readKeyOptions } from "./request/options.ts";
import { pinFor } from "./request/pin-source.ts";
import type { Pkcs11Pin } from "./request/pin.ts";
import { parsePkcs11Uri, type Pkcs11Uri } from "./request/uri.ts";

/** What `pkcs11:` URIs leave to the application. */
export interface Pkcs11AdapterOptions extends Pkcs11KeyOptions {
  /** Path of the module for URIs that name none. */
  readonly module?: string | undefined;
  /** Paths of modules by the `module-name` of URIs. */
  readonly modules?: Readonly<Record<string, string>> | undefined;
  /** The PIN for URIs without `pin-source`. */
  readonly pin?: Pkcs11Pin | undefined;
  /** Resolves a `pin-source` other than `file:`. Asked with its value on every new login. */
  readonly pinSource?: ((source: string) => Promise<string | Uint8Array> | string | Uint8Array) | undefined;
  /** Accepts `pin-value`, a PIN in the URI itself. Default `false`. */
  readonly allowPinValue?: boolean | undefined;
}

/**
 * Opens signers by PKCS #11 URI (RFC 7512), for instance
 * `pkcs11:token=op;object=sig-2026?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=file:/run/secrets/pin`.
 *
 * ```ts
 * import { openSigner } from "@signpost/core";
 * import { pkcs11 } from "@signpost/pkcs11";
 *
 * const uri = "pkcs11:token=op;object=sig-2026?pin-source=file:/run/secrets/pin";
 * await using signer = await openSigner(uri, [pkcs11({ module: "/usr/lib/softhsm/libsofthsm2.so" })]);
 * ```
 */
export function pkcs11(options: Pkcs11AdapterOptions = {}): SignerAdapter {
  // One function for each source, so that signers that name the same one are known to give the same PIN.
  const pins = new Map<string, Pkcs11Pin>();
  return {
    scheme: "pkcs11",
    open: (uri: string, open: AdapterOpenOptions = {}): Promise<Signer> => openUri(uri, options, open, pins),
  };
}

async function openUri(
  uri: string,
  options: Pkcs11AdapterOptions,
  { policy, signal }: AdapterOpenOptions,
  pins: Map<string, Pkcs11Pin>,
): Promise<Signer> {
  const parsed = parsePkcs11Uri(uri);
  const made = pinFor(parsed, options);
  const pin = parsed.pinSource === undefined ? made : (pins.get(parsed.pinSource) ?? made);
  if (parsed.pinSource !== undefined) pins.set(parsed.pinSource, pin);
  const request = await readKeyOptions({
    ...options,
    module: moduleOf(parsed, options),
    pin,
    selector: parsed.selector,
    query: parsed.query,
    policy,
  });
  return openKeySigner(request, { ...options, policy, signal });
}

function moduleOf({ modulePath, moduleName }: Pkcs11Uri, { module, modules = {} }: Pkcs11AdapterOptions): string {
  if (modulePath !== undefined) return modulePath;
  if (moduleName !== undefined) {
    const path = Object.hasOwn(modules, moduleName) ? modules[moduleName] : undefined;
    if (path !== undefined) return path;
    throw new ConfigurationError(
      "modules",
      `expected the path of the module ${JSON.stringify(moduleName)} that the URI names`,
    );
  }
  if (module !== undefined) return module;
  throw new ConfigurationError("module", "expected it as an option, or module-path in the URI");
}
