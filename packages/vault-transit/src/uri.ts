import { ConfigurationError } from "@signpost/core";
import { afterScheme, given } from "@signpost/core/adapter";
import { parseKey, parseMount, parseVersion, type KeyName } from "./key-name.ts";

const SCHEME = "vault://";
const EXPECTED = `expected ${SCHEME}/MOUNT/keys/KEY[?version=N]`;

// Nothing is decoded, because no name contains a character that needs it. The last "/keys/" divides, so that a mount may
// have such a segment too. Versions have one spelling, without leading zeros.
const REST = /^\/\/\/(.+)\/keys\/([^/?#]*)(?:\?version=([1-9][0-9]{0,9}))?$/;
const HOST = /^\/\/[^/]/;

/** The parts of a key URI. */
export interface KeyUri extends KeyName {
  /** Undefined: the latest version, at the time when the key is opened. */
  readonly keyVersion: number | undefined;
}

/** Reads `vault:///transit/keys/op?version=3`. */
export function parseKeyUri(uri: string): KeyUri {
  const rest = afterScheme(uri, "vault") ?? "";
  if (HOST.test(rest)) {
    throw new ConfigurationError(
      "uri",
      `${EXPECTED}, without a host: the address comes from the adapter or from VAULT_ADDR`,
    );
  }
  const match = REST.exec(rest);
  if (match === null) throw new ConfigurationError("uri", `${EXPECTED}, got ${given(uri)}`);
  const [, mount, key, version] = match;
  return {
    mount: parseMount("uri", mount),
    key: parseKey("uri", key),
    keyVersion: version === undefined ? undefined : parseVersion("uri", Number(version)),
  };
}

/** The canonical URI of a version. */
export function formatKeyUri({ mount, key }: KeyName, keyVersion: number | undefined): string {
  return `${SCHEME}/${mount}/keys/${key}${keyVersion === undefined ? "" : `?version=${keyVersion}`}`;
}
