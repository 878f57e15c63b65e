// The WWW-Authenticate headers of the service.

const ZONES = ["vault.azure.net", "managedhsm.azure.net", "vault.azure.cn", "vault.usgovcloudapi.net"];

/** The resource that tokens for a host are for. */
export function resourceOf(host: string): string {
  const hostname = host.replace(/:\d+$/, "");
  return `https://${ZONES.find((zone) => hostname.endsWith(`.${zone}`)) ?? hostname}`;
}

/** The challenge for a request without a token that the vault accepts. */
export function challengeFor(tenantId: string, resource: string): string {
  return `Bearer authorization="https://login.microsoftonline.com/${tenantId}", resource="${resource}"`;
}

/** The challenge of continuous access evaluation: these claims are missing. */
export function insufficientClaims(claims: string): string {
  const uri = "https://login.microsoftonline.com/common/oauth2/authorize";
  const encoded = Buffer.from(claims).toString("base64");
  return `Bearer realm="", authorization_uri="${uri}", error="insufficient_claims", claims="${encoded}"`;
}
