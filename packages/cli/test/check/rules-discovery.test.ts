import { describe, expect, it, test } from "vitest";
import { readTarget } from "../../src/check/probe/target.ts";
import { changed, check, EC_KEY, ISSUER, json, judged, JWKS_URI, located, op, RSA_KEY } from "./support/op.ts";
import type { Op } from "./support/op.ts";

type Verdicts = Readonly<Record<string, string>>;

const OPENID = `${ISSUER}/.well-known/openid-configuration`;
const OAUTH = `${ISSUER}/.well-known/oauth-authorization-server`;
const metadata = { issuer: ISSUER, jwks_uri: JWKS_URI, id_token_signing_alg_values_supported: ["ES256"] };

/** The OP with other answers at some URLs. */
function withAnswers(answers: Readonly<Record<string, ReturnType<Op>>>): Op {
  const base = op();
  return (request) => answers[request.url] ?? base(request);
}
const withMetadata = (more: object): Op => withAnswers({ [OPENID]: json({ ...metadata, ...more }) });
const NOT_FOUND = { status: 404, headers: {} };

test.each<readonly [string, Op, Verdicts]>([
  ["another issuer", withMetadata({ issuer: "https://evil.example" }), { issuer: "must" }],
  ["an issuer in other case", withMetadata({ issuer: "https://OP.example" }), { issuer: "must" }],
  ["an issuer with a slash", withMetadata({ issuer: `${ISSUER}/` }), { issuer: "note" }],
  ["an issuer that is a number", withMetadata({ issuer: 5 }), { issuer: "must" }],
  [
    "text/html",
    changed(
      op(),
      ({ url }) => url === OPENID,
      (reply) => ({ ...reply, headers: { "content-type": "text/html" } }),
    ),
    { discovery: "must" },
  ],
  [
    "JSON with a charset",
    changed(
      op(),
      ({ url }) => url === OPENID,
      (reply) => ({ ...reply, headers: { "content-type": "application/json;charset=UTF-8" } }),
    ),
    {},
  ],
  [
    "an algorithm without a key",
    withMetadata({ id_token_signing_alg_values_supported: ["ES256", "RS256"] }),
    { algorithms: "should" },
  ],
  ["none and HMAC", withMetadata({ id_token_signing_alg_values_supported: ["ES256", "none", "HS256"] }), {}],
  [
    "an algorithm that is not known here",
    withMetadata({ id_token_signing_alg_values_supported: ["ES256", "ML-DSA-65"] }),
    {},
  ],
  ["no algorithms", withMetadata({ id_token_signing_alg_values_supported: undefined }), { algorithms: "skipped" }],
  [
    "a key without alg for the algorithm",
    op({
      keys: [{ ...RSA_KEY, alg: undefined }, EC_KEY],
      metadata: { id_token_signing_alg_values_supported: ["PS256", "ES256"] },
    }),
    {},
  ],
  ["both documents, which agree", withAnswers({ [OAUTH]: json(metadata) }), { "discovery-agrees": "ok" }],
  [
    "both documents with two jwks_uri",
    withAnswers({ [OAUTH]: json({ ...metadata, jwks_uri: `${ISSUER}/keys` }) }),
    { "discovery-agrees": "should" },
  ],
  [
    "both documents with two issuers",
    withAnswers({ [OAUTH]: json({ ...metadata, issuer: "https://as.example" }) }),
    { "discovery-agrees": "must", issuer: "must" },
  ],
  [
    "a page in place of the second document",
    withAnswers({ [OAUTH]: { status: 200, headers: { "content-type": "text/html" }, body: "<html>" } }),
    {},
  ],
  ["JSON of the site in place of the second document", withAnswers({ [OAUTH]: json({ error: "not found" }) }), {}],
  ["only the document of RFC 8414", withAnswers({ [OPENID]: NOT_FOUND, [OAUTH]: json(metadata) }), {}],
])("discovery with %s", async (_name, server, expected) => {
  const { verdicts, words } = await judged(server);
  expect(verdicts).toEqual(expected);
  expect(words).toMatchSnapshot();
});

describe("what is said of the announced algorithms", () => {
  const unknown = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `x${index}`);

  test.each<[what: string, announced: unknown, seen: readonly string[]]>([
    ["names them all", ["ES256", "none", "HS256"], ["ES256, none, HS256"]],
    ["leaves out what is no text", [7, "ES256", null, "none"], ["ES256, none"]],
    ["names those without a key", ["RS256", "ES256", "PS256"], ["no key for RS256, PS256"]],
    ["is nothing if it is no list", "ES256", ["id_token_signing_alg_values_supported is not there"]],
    ["looks at the first hundred", [...unknown(99), "RS256"], ["no key for RS256"]],
    ["does not look at more", ["none", ...unknown(99), "RS256"], [expect.stringMatching(/^none, x0, .*…$/)]],
  ])("%s", async (_what, announced, expected) => {
    const { rows } = await check(withMetadata({ id_token_signing_alg_values_supported: announced }));
    const row = rows.find(({ rule }) => rule === "algorithms");
    const said = [row?.seen, ...(row?.findings ?? []).map(({ seen }) => seen)].filter((text) => text !== "");
    expect(said).toEqual(expected);
  });
});

test.each<readonly [string, Op, Verdicts]>([
  ["no document", withAnswers({ [OPENID]: NOT_FOUND }), { discovery: "must" }],
  [
    "a document that is no JSON",
    withAnswers({ [OPENID]: { status: 200, headers: {}, body: "<html>" } }),
    { discovery: "must" },
  ],
  ["a document without an issuer", withAnswers({ [OPENID]: json({ jwks_uri: JWKS_URI }) }), { discovery: "must" }],
  ["no jwks_uri", withMetadata({ jwks_uri: undefined }), { "jwks-uri": "must" }],
  [
    "no jwks_uri in OAuth alone",
    withAnswers({ [OPENID]: NOT_FOUND, [OAUTH]: json({ issuer: ISSUER }) }),
    { "jwks-uri": "note" },
  ],
  ["a relative jwks_uri", withMetadata({ jwks_uri: "/jwks" }), { "jwks-uri": "must" }],
  ["a jwks_uri that is no text", withMetadata({ jwks_uri: [JWKS_URI] }), { "jwks-uri": "must" }],
  [
    "a redirect of the document",
    withAnswers({
      [OPENID]: { status: 302, headers: { location: `${ISSUER}/config` } },
      [`${ISSUER}/config`]: json(metadata),
    }),
    { discovery: "must" },
  ],
  ["a jwks_uri with a fragment", withMetadata({ jwks_uri: `${JWKS_URI}#k` }), { "jwks-uri": "must" }],
  ["a jwks_uri with an empty fragment", withMetadata({ jwks_uri: `${JWKS_URI}#` }), { "jwks-uri": "must" }],
])("discovery with %s", async (_name, server, expected) => {
  const { verdicts, words } = await judged(server);
  expect(words).toMatchSnapshot();
  const changes = Object.entries(verdicts).filter(
    ([rule, verdict]) => verdict !== "skipped" && !/^304|stable/.test(rule),
  );
  expect(Object.fromEntries(changes)).toEqual(expected);
});

test("a jwks_uri without TLS", async () => {
  const insecure = "http://op.example/jwks";
  const server = withAnswers({
    [OPENID]: json({ ...metadata, jwks_uri: insecure }),
    [insecure]: { reason: "not-allowed", detail: "plain HTTP" },
  });
  const { rows } = await check(server);
  const musts = rows.filter(({ verdict }) => verdict === "must").map(({ rule }) => rule);
  expect(musts).toEqual(["jwks-uri", "reachable", "https"]);
});

describe("the URL that is given", () => {
  it.each([
    ["an issuer", ISSUER, JWKS_URI],
    ["an issuer with a slash", `${ISSUER}/`, JWKS_URI],
    ["a discovery document", OPENID, JWKS_URI],
    ["the other discovery document", OAUTH, JWKS_URI],
    ["a key set", JWKS_URI, JWKS_URI],
    ["a key set with a query", `${JWKS_URI}?v=1`, `${JWKS_URI}?v=1`],
    ["a page", `${ISSUER}/page`, undefined],
    ["something that looks like a key set", `${ISSUER}/oauth2/v3/certs`, `${ISSUER}/oauth2/v3/certs`],
  ])("is %s", async (_name, url, expected) => {
    await expect(located(withAnswers({}), url)).resolves.toBe(expected);
  });

  it("of an issuer is not asked itself, and leads to no page of the site", async () => {
    const asked: string[] = [];
    const server = op();
    await located((request) => {
      asked.push(request.url);
      return server(request);
    }, ISSUER);
    expect(asked).toEqual([OPENID, OAUTH, JWKS_URI]);
  });

  it("is found out even if its path says nothing", async () => {
    const server = op();
    const place = `${ISSUER}/v1/public`;
    const moved: Op = (request) =>
      server(request.url === place ? { ...request, url: JWKS_URI } : { ...request, url: `${ISSUER}/none` });
    await expect(located(moved, place)).resolves.toBe(place);
  });

  it("is the key set if the caller says so", async () => {
    await expect(located(op(), ISSUER, true)).resolves.toBe(`${ISSUER}/`);
  });

  it.each([
    ["https://op.example/.well-known/openid-configuration", "https://op.example"],
    ["https://op.example/a/.well-known/openid-configuration", "https://op.example/a"],
    ["https://op.example/.well-known/oauth-authorization-server/a", "https://op.example/a"],
    ["https://op.example/.well-known/oauth-authorization-server", "https://op.example"],
    ["https://op.example/a/", "https://op.example/a/"],
  ])("%s is of the issuer %s", (url, issuer) => {
    expect(readTarget(url, false).issuer).toBe(issuer);
  });

  it("has its documents where both standards put them", () => {
    expect(readTarget("https://op.example/a/", false).documents.map(({ url }) => url)).toEqual([
      "https://op.example/a/.well-known/openid-configuration",
      "https://op.example/.well-known/oauth-authorization-server/a",
    ]);
  });

  it.each([
    "op.example",
    "ftp://op.example",
    "https://user:pw@op.example",
    "https://op.example/#a",
    "https://op.example/#",
    "",
  ])("%j is refused", (url) => {
    expect(() => readTarget(url, false)).toThrow(expect.objectContaining({ code: "invalid_configuration" }));
  });

  it("is not quoted when it may hold a password", () => {
    expect(() => readTarget("https://user:hunter2@op.example", false)).toThrow(expect.not.stringContaining("hunter2"));
  });
});
