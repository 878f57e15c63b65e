import { ConfigurationError } from "@signpost/core";
import { given, readEndpoint, type ServiceEndpoint } from "@signpost/core/adapter";

/** The domains of vaults and of Managed HSMs in each cloud. A token for one is for `https://DOMAIN/.default`. */
const DOMAINS = [
  "vault.azure.net",
  "managedhsm.azure.net",
  "vault.azure.cn",
  "managedhsm.azure.cn",
  "vault.usgovcloudapi.net",
  "managedhsm.usgovcloudapi.net",
];

/** A vault or a Managed HSM. */
export interface Vault extends ServiceEndpoint {
  /** Its domain in a cloud of Azure. Undefined for a proxy, an emulator, and other names. */
  readonly domain: string | undefined;
}

const EXPECTED = "expected the URL of a vault or a Managed HSM, such as https://NAME.vault.azure.net";

/** Reads `https://NAME.vault.azure.net`, or its host alone. */
export function parseVault(argument: string, vault: unknown): Vault {
  if (typeof vault !== "string") throw new ConfigurationError(argument, `${EXPECTED}, got ${given(vault)}`);
  const url = vault.includes("://") ? vault : fromHost(argument, vault);
  const endpoint = readEndpoint(argument, url);
  if (endpoint.plaintext) throw new ConfigurationError(argument, `${EXPECTED}, with https`);
  const domain = DOMAINS.find((each) => endpoint.hostname.endsWith(`.${each}`));
  return { ...endpoint, domain };
}

/** The name of a vault alone does not say in which cloud it is. */
function fromHost(argument: string, host: string): string {
  if (/[.:]/.test(host) && !/[/?#@\\]/.test(host)) return `https://${host}`;
  throw new ConfigurationError(argument, `${EXPECTED}, got ${host === "" ? "an empty string" : "something else"}`);
}

/** The scope of tokens for a vault in a cloud of Azure. */
export function scopeOf({ domain }: Vault): string | undefined {
  return domain === undefined ? undefined : `https://${domain}/.default`;
}

/** Whether this is a Managed HSM, whose own capacity is its only limit. */
export function isManagedHsm({ domain }: Vault): boolean {
  return domain?.startsWith("managedhsm.") === true;
}
