import { isLoopbackHost, memberOf } from "@signpost/core/adapter";

/** A file with credentials names a plain http endpoint. */
export class InsecureSourceError extends Error {}

/** The endpoints in such a file to which the SDK sends a token. It reads both spellings. */
const ENDPOINTS = ["token_url", "tokenUrl", "service_account_impersonation_url", "serviceAccountImpersonationUrl"];

/**
 * Refuses an endpoint with plain http, except on the loopback interface, before anything is sent to it. `auth` is the
 * client's, after it has read its file.
 */
export function requireSecureSources(auth: unknown): void {
  const file = memberOf(auth, "jsonContent");
  for (const content of [file, memberOf(file, "source_credentials")]) {
    const name = ENDPOINTS.find((endpoint) => isInsecure(memberOf(content, endpoint)));
    if (name === undefined) continue;
    throw new InsecureSourceError(`expected https, or http on the loopback interface, for ${name} in their file`);
  }
}

function isInsecure(url: unknown): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopbackHost(hostname);
}
