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
  // Impersonation can have another one as its source, in any number of steps.
  for (let content = memberOf(auth, "jsonContent"); content !== undefined; content = sourceOf(content)) {
    const name = ENDPOINTS.find((endpoint) => isInsecure(memberOf(content, endpoint)));
    if (name === undefined) continue;
    throw new InsecureSourceError(`expected https, or http on the loopback interface, for ${name} in their file`);
  }
}

function sourceOf(content: unknown): unknown {
  return memberOf(content, "source_credentials");
}

function isInsecure(url: unknown): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopbackHost(hostname);
}
