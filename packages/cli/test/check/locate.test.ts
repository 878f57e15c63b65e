import { expect, test } from "vitest";
import { locate } from "../../src/check/probe/locate.ts";
import { readTarget } from "../../src/check/probe/target.ts";
import type { Op, Reply } from "./support/op.ts";
import { json, proberOf } from "./support/op.ts";

// Which URLs are asked to find a key set, in order, and what is taken for it.

const HOST = "https://op.example";
const OPENID = "/.well-known/openid-configuration";
const OAUTH = "/.well-known/oauth-authorization-server";
const SET = json({ keys: [] });
const NOT_FOUND: Reply = { status: 404, headers: {} };
const AWAY = { reason: "time", detail: "10 s" } as const;
const NOT_HTTP = { reason: "not-http", detail: "HPE_INVALID" } as const;
const metadata = (issuer: string, uri: unknown = `${HOST}/set`): Reply => json({ issuer, jwks_uri: uri });

interface Case {
  readonly url: string;
  readonly isKeySet?: boolean;
  /** By path. Everything else is not found. */
  readonly answers: Readonly<Record<string, ReturnType<Op>>>;
  readonly asked: readonly string[];
  readonly jwksUrl: string | undefined;
  readonly issuer: string | undefined;
}

test.each<[what: string, given: Case]>([
  [
    "an issuer",
    {
      url: HOST,
      answers: { [OPENID]: metadata(HOST), "/set": SET },
      asked: [OPENID, OAUTH, "/set"],
      jwksUrl: `${HOST}/set`,
      issuer: HOST,
    },
  ],
  [
    "an issuer that is away",
    { url: HOST, answers: { [OPENID]: AWAY }, asked: [OPENID], jwksUrl: undefined, issuer: HOST },
  ],
  [
    "an issuer whose document does not speak HTTP",
    { url: HOST, answers: { [OPENID]: NOT_HTTP }, asked: [OPENID, OAUTH, "/"], jwksUrl: undefined, issuer: HOST },
  ],
  [
    "an issuer of OAuth alone",
    {
      url: HOST,
      answers: { [OAUTH]: metadata(HOST), "/set": SET },
      asked: [OPENID, OAUTH, "/set"],
      jwksUrl: `${HOST}/set`,
      issuer: HOST,
    },
  ],
  [
    "an issuer whose document has no URL",
    { url: HOST, answers: { [OPENID]: metadata(HOST, 7) }, asked: [OPENID, OAUTH], jwksUrl: undefined, issuer: HOST },
  ],
  [
    "an issuer whose document has a relative URL",
    {
      url: HOST,
      answers: { [OPENID]: metadata(HOST, "/set") },
      asked: [OPENID, OAUTH],
      jwksUrl: undefined,
      issuer: HOST,
    },
  ],
  [
    "a key set by its name",
    { url: `${HOST}/jwks`, answers: { "/jwks": SET }, asked: ["/jwks"], jwksUrl: `${HOST}/jwks`, issuer: undefined },
  ],
  [
    "a key set by its name, which is away",
    { url: `${HOST}/jwks`, answers: { "/jwks": AWAY }, asked: ["/jwks"], jwksUrl: `${HOST}/jwks`, issuer: undefined },
  ],
  [
    "a key set by its name, which is broken, and no issuer",
    {
      url: `${HOST}/jwks`,
      answers: {},
      asked: ["/jwks", `/jwks${OPENID}`, `${OAUTH}/jwks`],
      jwksUrl: `${HOST}/jwks`,
      issuer: undefined,
    },
  ],
  [
    "an issuer with the name of a key set",
    {
      url: `${HOST}/jwks`,
      answers: { [`/jwks${OPENID}`]: metadata(`${HOST}/jwks`), "/set": SET },
      asked: ["/jwks", `/jwks${OPENID}`, `${OAUTH}/jwks`, "/set"],
      jwksUrl: `${HOST}/set`,
      issuer: `${HOST}/jwks`,
    },
  ],
  [
    "a key set without a name",
    {
      url: `${HOST}/a`,
      answers: { "/a": SET },
      asked: [`/a${OPENID}`, `${OAUTH}/a`, "/a"],
      jwksUrl: `${HOST}/a`,
      issuer: undefined,
    },
  ],
  [
    "a page",
    {
      url: `${HOST}/a`,
      answers: { "/a": json({ keys: {} }) },
      asked: [`/a${OPENID}`, `${OAUTH}/a`, "/a"],
      jwksUrl: undefined,
      issuer: `${HOST}/a`,
    },
  ],
  [
    "a page of a host that is away",
    {
      url: `${HOST}/a`,
      answers: { [`/a${OPENID}`]: AWAY },
      asked: [`/a${OPENID}`],
      jwksUrl: undefined,
      issuer: `${HOST}/a`,
    },
  ],
  [
    "anything that the caller calls a key set",
    {
      url: `${HOST}/a`,
      isKeySet: true,
      answers: {},
      asked: ["/a"],
      jwksUrl: `${HOST}/a`,
      issuer: undefined,
    },
  ],
])("%s", async (_what, { url, isKeySet = false, answers, asked, jwksUrl, issuer }) => {
  const requests: string[] = [];
  const server: Op = (request) => {
    const { pathname } = new URL(request.url);
    requests.push(pathname);
    return answers[pathname] ?? NOT_FOUND;
  };
  const located = await locate(readTarget(url, isKeySet), proberOf(server));
  expect(requests).toEqual(asked);
  expect([located.target, located.jwksUrl, located.issuer]).toEqual([url, jwksUrl, issuer]);
  expect(located.first === undefined).toBe(jwksUrl === undefined);
});
