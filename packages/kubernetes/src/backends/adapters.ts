import { ConfigurationError, type GuardedSigner, openSigner, type SignerAdapter } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import { isMissing } from "../missing-package.ts";
import { variable, withSecrets } from "./secrets.ts";

/** How keys of one URI scheme are opened. */
interface AdapterSource {
  readonly package: string;
  readonly factory: string;
  /** What to install with the package. */
  readonly peers?: readonly string[];
  /** A literal import, so that tools find it. */
  readonly load: () => Promise<object>;
}

/** The backends, by the scheme of their URIs. */
export const ADAPTERS: Readonly<Record<string, AdapterSource>> = {
  local: { package: "@signpost/local", factory: "local", load: () => import("@signpost/local") },
  awskms: {
    package: "@signpost/aws-kms",
    factory: "awsKms",
    peers: ["@aws-sdk/client-kms"],
    load: () => import("@signpost/aws-kms"),
  },
  gcpkms: {
    package: "@signpost/gcp-kms",
    factory: "gcpKms",
    peers: ["@google-cloud/kms"],
    load: () => import("@signpost/gcp-kms"),
  },
  vault: {
    package: "@signpost/vault-transit",
    factory: "vaultTransit",
    load: () => import("@signpost/vault-transit"),
  },
  azurekms: {
    package: "@signpost/azure-key-vault",
    factory: "azureKeyVault",
    peers: ["@azure/identity"],
    load: () => import("@signpost/azure-key-vault"),
  },
  pkcs11: {
    package: "@signpost/pkcs11",
    factory: "pkcs11",
    peers: ["pkcs11js"],
    load: () => import("@signpost/pkcs11"),
  },
};

/** Options of adapters, as a configuration has them, by scheme. */
export type AdaptersOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The scheme of a key URI in lower case. Messages do not contain the URI: what is in the wrong place may be a secret. */
export function keyUriScheme(argument: string, uri: unknown): string {
  const scheme = typeof uri === "string" ? /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(uri)?.[1]?.toLowerCase() : undefined;
  if (scheme !== undefined && Object.hasOwn(ADAPTERS, scheme)) return scheme;
  const known = Object.keys(ADAPTERS).map((name) => `${name}:`);
  throw new ConfigurationError(argument, `expected a key URI that begins with ${known.join(", ")}, got ${given(uri)}`);
}

/** Opens the key of a URI with the options of a configuration. The caller closes it. */
export async function openKey(uri: string, adapters: AdaptersOptions, signal: AbortSignal): Promise<GuardedSigner> {
  const scheme = keyUriScheme("uri", uri);
  const options = withSecrets(`adapters.${scheme}`, adapters[scheme] ?? {}, process.env) as object;
  const adapter = await loadAdapter(scheme, scheme === "pkcs11" ? tokenOptions(uri, options) : options);
  return openSigner(uri, [adapter], { signal });
}

/**
 * In a child process, unless the configuration says otherwise. A program does not end before the native calls of its threads: with a
 * module that hangs, it would neither end at SIGTERM nor be started again.
 */
function tokenOptions(uri: string, options: { readonly isolation?: unknown }): object {
  return { ...options, isolation: options.isolation ?? "process", ...pinFromEnvironment(uri) };
}

/** `pin-source=env:NAME` of RFC 7512 URIs. The adapter reads `pin-source=file:` itself. */
function pinFromEnvironment(uri: string): { readonly pinSource?: () => string } {
  const source = /[?&]pin-source=([^&]*)/.exec(uri)?.[1];
  const name = /^env(?::|%3A)(.*)$/i.exec(source ?? "")?.[1];
  return name === undefined ? {} : { pinSource: () => variable("pin-source", name, process.env) };
}

async function loadAdapter(scheme: string, options: object): Promise<SignerAdapter> {
  const source = ADAPTERS[scheme];
  if (source === undefined) throw new TypeError(`no adapter for ${scheme}`);
  const module: object = await source.load().catch((cause: unknown) => {
    throw isMissing(cause, source.package) ? missing(source, cause) : cause;
  });
  const factory: unknown = Reflect.get(module, source.factory);
  if (typeof factory !== "function") throw missing(source, undefined);
  return factory(options) as SignerAdapter;
}

function missing({ package: name, peers = [] }: AdapterSource, cause: unknown): ConfigurationError {
  const install = `npm install ${[name, ...peers].join(" ")}`;
  return new ConfigurationError("uri", `${name} is not installed, and this key needs it: ${install}`, { cause });
}
