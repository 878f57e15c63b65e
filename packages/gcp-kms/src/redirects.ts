import { memberOf } from "@signpost/core/adapter";

// Neither the service nor a source of credentials redirects. A redirect comes from something in front of them, which must not
// get what is sent. node-fetch 3 throws some of its errors about redirects where no caller can catch them, which ends the
// process: for a second redirect of a request with a body, and for a URL with a password.

/** For a request that goes through node-fetch: the answer is the redirect itself. */
export const NO_REDIRECT = { redirect: "manual" } as const;

/** What becomes of the name of the header that says where a redirect leads to. */
const NOT_FOLLOWED = "x-location-not-followed";

/**
 * Renames the header that says where an answer leads to, before the client reads it. The client then takes it for an answer that
 * says nothing. For requests whose options are not ours. `response` is Node's, which counts its headers.
 */
export function forgetLocation(response: unknown): void {
  const status = memberOf(response, "statusCode");
  const headers = memberOf(response, "rawHeaders");
  if (typeof status !== "number" || status < 300 || status > 399 || !Array.isArray(headers)) return;
  // Names and values take turns.
  for (let at = 0; at < headers.length; at += 2) {
    if (String(headers[at]).toLowerCase() === "location") headers[at] = NOT_FOLLOWED;
  }
}
