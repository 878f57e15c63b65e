import { ConfigurationError } from "@signpost/core";
import { afterScheme, given } from "@signpost/core/adapter";
import { parseKey, parseVersion, type KeyName } from "./key-name.ts";
import { parseVault } from "./vault.ts";

const SCHEME = "azurekms://";
const EXPECTED = `expected ${SCHEME}/HOST/keys/KEY[/VERSION], where HOST is the host of the vault`;

// Nothing is decoded, because neither a host nor a name contains a character that needs it.
/** `///HOST/keys/KEY/VERSION`: the canonical form. Two slashes are accepted too. */
const CANONICAL = /^\/\/\/?([^/?#]+)\/keys\/([^/?#]+)(?:\/([^/?#]+))?$/;
/** `//HOST/KEY/VERSION`: the form of sigstore and cosign. */
const SIGSTORE = /^\/\/([^/?#]+)\/([^/?#]+)(?:\/([^/?#]+))?$/;
/** `name=KEY;vault=NAME?version=VERSION`: the form of step-ca. */
const STEP = /^([^/?]*)(?:\?([^/?]*))?$/;

/** Reads `azurekms:///op.vault.azure.net/keys/op/VERSION`, and the forms of sigstore and of step-ca. */
export function parseKeyUri(uri: string): KeyName {
  const rest = afterScheme(uri, "azurekms") ?? "";
  if (!rest.startsWith("/") && rest !== "") return parseStep(rest);
  const [, host, key, version] = CANONICAL.exec(rest) ?? SIGSTORE.exec(rest) ?? [];
  if (host === undefined) throw new ConfigurationError("uri", `${EXPECTED}, got ${given(uri)}`);
  return nameOf(host, key, version);
}

function nameOf(host: string | undefined, key: string | undefined, version: string | undefined): KeyName {
  return {
    vault: parseVault("uri", host),
    key: parseKey("uri", key),
    keyVersion: version === undefined ? undefined : parseVersion("uri", version),
  };
}

const STEP_MEMBERS = ["name", "vault", "version", "hsm"];

/** The public cloud is meant, because such a URI has no other. `hsm` matters only when a key is created. */
function parseStep(rest: string): KeyName {
  const [, attributes = "", query] = STEP.exec(rest) ?? [];
  const found = new Map<string, string>();
  for (const part of [...attributes.split(";"), ...(query?.split("&") ?? [])]) {
    const [name = "", value = "", ...more] = part.split("=");
    if (!STEP_MEMBERS.includes(name) || value === "" || found.has(name) || more.length > 0) {
      throw new ConfigurationError("uri", `${EXPECTED}, got ${given(rest)}`);
    }
    found.set(name, value);
  }
  const vault = found.get("vault");
  if (vault === undefined) throw new ConfigurationError("uri", `${EXPECTED}, got ${given(rest)}`);
  return nameOf(vault.includes(".") ? vault : `${vault}.vault.azure.net`, found.get("name"), found.get("version"));
}

/** The canonical URI of a version. */
export function formatKeyUri({ vault, key, keyVersion }: KeyName): string {
  // A name without a dot is read as a host only with its port.
  const host = /[.:]/.test(vault.host) ? vault.host : `${vault.host}:${vault.port}`;
  return `${SCHEME}/${host}/keys/${key}${keyVersion === undefined ? "" : `/${keyVersion}`}`;
}
