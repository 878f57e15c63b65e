import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import { parseVault, type Vault } from "./vault.ts";

// The service's own rules. No character of a name needs encoding in a path.
const KEY = /^[0-9A-Za-z-]{1,127}$/;
const VERSION = /^[0-9A-Za-z]{32}$/;
// A scheme is the same in capitals (RFC 3986 section 3.1).
const IDENTIFIER = /^([Hh][Tt][Tt][Pp][Ss]:\/\/[^/?#]+)\/keys\/([^/?#]+)(?:\/([^/?#]+))?$/;

/** Which key, and which version of it. */
export interface KeyName {
  readonly vault: Vault;
  readonly key: string;
  /** Undefined: the latest version, at the time when the key is opened. */
  readonly keyVersion: string | undefined;
}

/** Reads the name of a key. It is sent unchanged. */
export function parseKey(argument: string, key: unknown): string {
  if (typeof key === "string" && KEY.test(key)) return key;
  throw new ConfigurationError(
    argument,
    `expected the name of a key (1 to 127 letters, digits and hyphens) or its identifier, got ${given(key)}`,
  );
}

/** Reads a version, which the service names with 32 characters. */
export function parseVersion(argument: string, version: unknown): string {
  if (typeof version === "string" && VERSION.test(version)) return version;
  throw new ConfigurationError(argument, `expected the 32 characters of a version, got ${given(version)}`);
}

/** Reads a key identifier: `https://NAME.vault.azure.net/keys/KEY[/VERSION]`. */
export function parseIdentifier(argument: string, identifier: string): KeyName {
  const [, vault, key, version] = IDENTIFIER.exec(identifier) ?? [];
  if (key === undefined) {
    throw new ConfigurationError(argument, "expected a key identifier, such as https://NAME.vault.azure.net/keys/KEY");
  }
  return {
    vault: parseVault(argument, vault),
    key: parseKey(argument, key),
    keyVersion: version === undefined ? undefined : parseVersion(argument, version),
  };
}

/** The options that name a key. */
export interface KeyNameOptions {
  readonly key: string;
  readonly keyVersion?: string | undefined;
  readonly vault?: string | undefined;
}

/** Reads the options that name a key. An identifier and the other options must not contradict each other. */
export function readKeyName({ key, keyVersion, vault }: KeyNameOptions): KeyName {
  const version = keyVersion === undefined ? undefined : parseVersion("keyVersion", keyVersion);
  if (typeof key === "string" && key.includes("/")) {
    const named = parseIdentifier("key", key);
    if (vault !== undefined && parseVault("vault", vault).url !== named.vault.url) {
      throw new ConfigurationError("vault", "expected the vault of the identifier in key, or none");
    }
    if (version !== undefined && named.keyVersion !== undefined && version !== named.keyVersion) {
      throw new ConfigurationError("keyVersion", "expected the version of the identifier in key, or none");
    }
    return { ...named, keyVersion: version ?? named.keyVersion };
  }
  return { vault: parseVault("vault", vault), key: parseKey("key", key), keyVersion: version };
}

/** A key in messages: `op/VERSION`, or `op`. */
export function describeKey(key: string, keyVersion: string | undefined): string {
  return keyVersion === undefined ? key : `${key}/${keyVersion}`;
}
