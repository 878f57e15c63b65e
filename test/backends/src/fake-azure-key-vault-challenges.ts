import { azureError, type AzureReply } from "./fake-azure-key-vault-answers.ts";
import type { FakeEntra } from "./fake-azure-key-vault-tokens.ts";
import type { AzureRequest } from "./fake-azure-key-vault-wire.ts";

// The WWW-Authenticate headers of the service.

const ZONES = ["vault.azure.net", "managedhsm.azure.net", "vault.azure.cn", "vault.usgovcloudapi.net"];

/** The resource that tokens for a host are for. */
function resourceOf(host: string): string {
  const hostname = host.replace(/:\d+$/, "");
  return `https://${ZONES.find((zone) => hostname.endsWith(`.${zone}`)) ?? hostname}`;
}

/** The challenge for a request without a token that the vault accepts. */
function challengeFor(tenantId: string, resource: string): string {
  return `Bearer authorization="https://login.microsoftonline.com/${tenantId}", resource="${resource}"`;
}

/** The challenge of continuous access evaluation: these claims are missing. */
function insufficientClaims(claims: string): string {
  const uri = "https://login.microsoftonline.com/common/oauth2/authorize";
  const encoded = Buffer.from(claims).toString("base64");
  return `Bearer realm="", authorization_uri="${uri}", error="insufficient_claims", claims="${encoded}"`;
}

/** What a test has changed. */
interface Changes {
  readonly resource: string | undefined;
  readonly challenge: string | undefined;
}

/** The answer to a request whose token the vault does not accept. */
export function tokenRefusal(
  { host, token }: AzureRequest,
  entra: FakeEntra,
  changes: Changes,
): AzureReply | undefined {
  const { resource = resourceOf(host) } = changes;
  const { challenge = challengeFor(entra.tenantId, resource) } = changes;
  const refuse = (message: string, header = challenge): AzureReply => ({
    ...azureError(401, "Unauthorized", message),
    headers: { "www-authenticate": header },
  });
  if (token === undefined) return refuse("AKV10000: Request is missing a Bearer or PoP token.");
  const issued = entra.find(token);
  if (issued === undefined) return refuse("AKV10046: Unable to resolve the key used for signature validation.");
  if (issued.scope !== `${resource}/.default`) return refuse("AKV10022: Invalid audience.");
  if (entra.requiresTenant && issued.tenantId !== entra.tenantId) return refuse("AKV10032: Invalid issuer.");
  if (entra.requiredClaims === undefined || issued.claims === entra.requiredClaims) return undefined;
  return refuse("AKV10144: the token lacks claims.", insufficientClaims(entra.requiredClaims));
}
