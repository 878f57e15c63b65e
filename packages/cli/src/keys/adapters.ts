import type { SignerAdapter } from "@signpost/core";
import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import { at } from "../program/place.ts";
import { importPackage } from "./import-package.ts";

/** How keys of one URI scheme are opened. */
interface AdapterSource {
  readonly package: string;
  /** Creates the adapter. */
  readonly factory: string;
  /** What to install with the package. */
  readonly peers?: readonly string[];
  /** The beginning of a URI, for messages. */
  readonly example: string;
  /** A literal import, so that tools find it. */
  readonly load: () => Promise<object>;
}

/** The backends, by the scheme of their URIs. */
export const ADAPTERS: Readonly<Record<string, AdapterSource>> = {
  local: {
    package: "@signpost/local",
    factory: "local",
    example: "local:keys/op.pem",
    load: () => import("@signpost/local"),
  },
  awskms: {
    package: "@signpost/aws-kms",
    factory: "awsKms",
    peers: ["@aws-sdk/client-kms"],
    example: "awskms:///alias/op-2026",
    load: () => import("@signpost/aws-kms"),
  },
  gcpkms: {
    package: "@signpost/gcp-kms",
    factory: "gcpKms",
    peers: ["@google-cloud/kms"],
    example: "gcpkms://projects/…/cryptoKeyVersions/1",
    load: () => import("@signpost/gcp-kms"),
  },
  vault: {
    package: "@signpost/vault-transit",
    factory: "vaultTransit",
    example: "vault:///transit/keys/op",
    load: () => import("@signpost/vault-transit"),
  },
  azurekms: {
    package: "@signpost/azure-key-vault",
    factory: "azureKeyVault",
    peers: ["@azure/identity"],
    example: "azurekms:///op.vault.azure.net/keys/id-token",
    load: () => import("@signpost/azure-key-vault"),
  },
  pkcs11: {
    package: "@signpost/pkcs11",
    factory: "pkcs11",
    peers: ["pkcs11js"],
    example: "pkcs11:token=op;object=sig-2026",
    load: () => import("@signpost/pkcs11"),
  },
};

/** Options of an adapter, as its factory takes them. */
export type AdapterOptions = Readonly<Record<string, unknown>>;

/**
 * The scheme of a key URI in lower case. Refuses a URI that no backend has, or that contains a PIN, without printing it: a URI that
 * was accepted may be printed.
 */
export function keyUriScheme(uri: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(uri)?.[1]?.toLowerCase();
  if (scheme !== undefined && Object.hasOwn(ADAPTERS, scheme)) {
    if (scheme === "pkcs11") refusePin(uri);
    return scheme;
  }
  const known = Object.values(ADAPTERS).map(({ example }) => example);
  throw new CliError(EXIT.usage, "unknown_scheme", "The key URI begins with the scheme of no backend", {
    hint: `Key URIs look like this: ${known.join(", ")}`,
  });
}

/** Wherever it is, since after a wrong separator a PIN is part of another value. An escaped `=` is meant, and part of a label. */
function refusePin(uri: string): void {
  const text = uri.replaceAll(/%(?!3D)[\dA-F]{2}/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
  );
  if (!/pin[-_ ]?value\s*=/i.test(text)) return;
  throw new CliError(EXIT.usage, "pin_in_uri", "A PIN in a URI ends up in logs", {
    hint: "The URI contains pin-value=. Use pin-source=file:PATH instead of pin-value",
  });
}

/** Loads the adapter of a scheme. */
export async function loadAdapter(scheme: string, options: AdapterOptions, cwd: string): Promise<SignerAdapter> {
  const source = ADAPTERS[scheme];
  if (source === undefined) throw new TypeError(`no adapter for ${scheme}`);
  const module = await importPackage(source.package, cwd, source.load);
  const factory: unknown = Reflect.get(module ?? {}, source.factory);
  if (typeof factory !== "function") throw missing(source);
  return at(`adapters.${scheme}: `, () => factory(options) as SignerAdapter);
}

function missing({ package: name, peers = [] }: AdapterSource): CliError {
  return new CliError(EXIT.usage, "adapter_missing", `${name} is not installed, and this key needs it`, {
    hint: `npm install ${[name, ...peers].join(" ")}`,
  });
}
