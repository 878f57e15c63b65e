import { describe, expect, test } from "vitest";
import { followUps, get, getMetadata } from "../../src/check/probe/requests.ts";
import { readTarget } from "../../src/check/probe/target.ts";

// What is sent to a key set, header by header, and what is made of the URL that was given.

const SET = "https://op.example/jwks";
const ACCEPT = "application/jwk-set+json, application/json;q=0.9, */*;q=0.1";
const headers = (more: object = {}): object => ({
  "user-agent": "signpost-check",
  accept: ACCEPT,
  "accept-encoding": "identity",
  ...more,
});
const asked = (method: string, more: object = {}, url = SET): object => ({ method, url, headers: headers(more) });
const when = (tag: string): object => ({ "if-none-match": tag });

const ALWAYS = {
  head: asked("HEAD"),
  star: asked("GET", when("*")),
  other: asked("GET", when('"signpost-check"')),
  post: asked("POST", { "content-length": "0" }),
  acceptJwkSet: asked("GET", { accept: "application/jwk-set+json" }),
  acceptJson: asked("GET", { accept: "application/json" }),
  gzip: asked("GET", { "accept-encoding": "gzip" }),
};
const STRICT = {
  options: asked("OPTIONS"),
  patch: asked("PATCH", { "content-length": "0" }),
  query: asked("GET", {}, `${SET}?signpost-check=1`),
};
const conditional = (tag: string): object => ({
  exact: asked("GET", when(tag)),
  list: asked("GET", when(`"signpost-check", ${tag}`)),
  headExact: asked("HEAD", when(tag)),
});

describe("the requests after the first one", () => {
  test.each<[what: string, etag: string | undefined, isStrict: boolean, requests: object]>([
    ["without an ETag", undefined, false, ALWAYS],
    ["with a strong ETag", '"a"', false, { ...ALWAYS, ...conditional('"a"'), weak: asked("GET", when('W/"a"')) }],
    ["with a weak ETag", 'W/"a"', false, { ...ALWAYS, ...conditional('W/"a"') }],
    ["of a strict check", undefined, true, { ...ALWAYS, ...STRICT }],
  ])("%s", (_what, etag, isStrict, requests) => {
    expect(followUps(SET, etag, isStrict)).toEqual(requests);
  });
});

test("a document is asked for as JSON", () => {
  expect([get(SET), getMetadata(SET)]).toEqual([asked("GET"), asked("GET", { accept: "application/json" })]);
});

const OPENID = "/.well-known/openid-configuration";
const OAUTH = "/.well-known/oauth-authorization-server";
const HOST = "https://op.example";

test.each<[given: string, kind: string, url: string, issuer: string]>([
  [HOST, "unknown", HOST, HOST],
  [`${HOST}/`, "unknown", `${HOST}/`, `${HOST}/`],
  [`${HOST}/jwks?a`, "unknown", `${HOST}/jwks?a`, `${HOST}/jwks?a`],
  [`${HOST}${OPENID}`, "issuer", `${HOST}${OPENID}`, HOST],
  [`${HOST}/a${OPENID}`, "issuer", `${HOST}/a${OPENID}`, `${HOST}/a`],
  [`HTTPS://OP.example${OPENID}`, "issuer", `${HOST}${OPENID}`, HOST],
  [`${HOST}${OAUTH}`, "issuer", `${HOST}${OAUTH}`, HOST],
  [`${HOST}${OAUTH}/a`, "issuer", `${HOST}${OAUTH}/a`, `${HOST}/a`],
  [`${HOST}${OAUTH}2`, "unknown", `${HOST}${OAUTH}2`, `${HOST}${OAUTH}2`],
  [`${HOST}${OPENID}/a`, "unknown", `${HOST}${OPENID}/a`, `${HOST}${OPENID}/a`],
  [`${HOST}${OPENID}?a`, "unknown", `${HOST}${OPENID}?a`, `${HOST}${OPENID}?a`],
])("%s is of the kind %s: %s, of the issuer %s", (given, kind, url, issuer) => {
  expect(readTarget(given, false)).toMatchObject({ kind, url, issuer });
  expect(readTarget(given, true)).toMatchObject({ kind: "jwks", url: new URL(given).href, issuer });
});

test.each<[issuer: string, path: string]>([
  [HOST, ""],
  [`${HOST}/`, ""],
  [`${HOST}/a`, "/a"],
  [`${HOST}/a/`, "/a"],
  [`${HOST}/a/b`, "/a/b"],
])("the documents of %s are at their places", (issuer, path) => {
  expect(readTarget(issuer, false).documents).toEqual([
    { document: "openid-configuration", url: `${HOST}${path}${OPENID}` },
    { document: "oauth-authorization-server", url: `${HOST}${OAUTH}${path}` },
  ]);
});

test.each<[path: string, looksLikeKeySet: boolean]>([
  ["/jwks", true],
  ["/JWKS.json", true],
  ["/oauth2/v3/certs", true],
  ["/discovery/keys", true],
  ["/a", false],
  ["/jwks/page", false],
  ["/page/", false],
])("the path %s looks like that of a key set: %s", (path, looksLikeKeySet) => {
  expect(readTarget(HOST + path, false).looksLikeKeySet).toBe(looksLikeKeySet);
  expect(readTarget(HOST + path, true).looksLikeKeySet).toBe(true);
});

test.each([
  ["a user alone", "https://user@op.example"],
  ["a password alone", "https://:pw@op.example"],
  ["no URL", "op.example"],
  ["another scheme", "ftp://op.example"],
  ["a fragment", `${HOST}/#`],
])("a URL with %s is refused", (_what, url) => {
  expect(() => readTarget(url, false)).toThrow(expect.objectContaining({ argument: "url" }));
});
