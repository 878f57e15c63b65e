import type { ProbeRequest } from "../exchange.ts";

/** What relying parties send. */
const ACCEPT = "application/jwk-set+json, application/json;q=0.9, */*;q=0.1";

const COMMON = { "user-agent": "signpost-check", accept: ACCEPT, "accept-encoding": "identity" };

/** A tag that no server has made. */
const OTHER_TAG = '"signpost-check"';

/** A GET as relying parties send it. */
export function get(url: string, headers: Readonly<Record<string, string>> = {}): ProbeRequest {
  return { method: "GET", url, headers: { ...COMMON, ...headers } };
}

/** A GET of a discovery document. */
export function getMetadata(url: string): ProbeRequest {
  return get(url, { accept: "application/json" });
}

function other(method: string, url: string, headers: Readonly<Record<string, string>> = {}): ProbeRequest {
  return { ...get(url, headers), method };
}

/** The requests that follow the first GET. `etag` is what that GET got. */
export function followUps(
  url: string,
  etag: string | undefined,
  isStrict: boolean,
): Readonly<Record<string, ProbeRequest>> {
  const when = (tag: string): Readonly<Record<string, string>> => ({ "if-none-match": tag });
  return {
    head: other("HEAD", url),
    star: get(url, when("*")),
    other: get(url, when(OTHER_TAG)),
    ...(etag === undefined ? {} : conditional(url, etag, when)),
    // Without a body. PUT and DELETE are never sent: a set on a static host could be overwritten or lost.
    post: other("POST", url, { "content-length": "0" }),
    acceptJwkSet: get(url, { accept: "application/jwk-set+json" }),
    acceptJson: get(url, { accept: "application/json" }),
    gzip: get(url, { "accept-encoding": "gzip" }),
    ...(isStrict ? strict(url) : {}),
  };
}

function conditional(
  url: string,
  etag: string,
  when: (tag: string) => Readonly<Record<string, string>>,
): Readonly<Record<string, ProbeRequest>> {
  return {
    exact: get(url, when(etag)),
    list: get(url, when(`${OTHER_TAG}, ${etag}`)),
    ...(etag.startsWith("W/") ? {} : { weak: get(url, when(`W/${etag}`)) }),
    headExact: other("HEAD", url, when(etag)),
  };
}

function strict(url: string): Readonly<Record<string, ProbeRequest>> {
  const query = new URL(url);
  query.searchParams.set("signpost-check", "1");
  return {
    options: other("OPTIONS", url),
    patch: other("PATCH", url, { "content-length": "0" }),
    query: get(query.href),
  };
}
