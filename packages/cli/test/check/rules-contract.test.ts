import { expect, test } from "vitest";
import type { ProbeRequest } from "../../src/check/exchange.ts";
import { changed, check, EC_KEY, ED_KEY, JWKS_URI, op, RSA_KEY, wordsOf } from "./support/op.ts";
import type { Op, Reply } from "./support/op.ts";

// What Signpost's own contract says of an endpoint with one difference, in words.

type Fits = (request: ProbeRequest) => boolean;

const isSet: Fits = ({ url }) => url.startsWith(JWKS_URI);
const headers =
  (more: Reply["headers"]) =>
  (reply: Reply): Reply => ({ ...reply, headers: { ...reply.headers, ...more } });
const status =
  (code: number, more: Reply["headers"] = {}) =>
  (): Reply => ({ status: code, headers: more });
const by =
  (...methods: readonly string[]): Fits =>
  (request) =>
    isSet(request) && methods.includes(request.method);
const hasQuery: Fits = ({ url }) => url.startsWith(`${JWKS_URI}?`);
const hasTag =
  (pattern: RegExp): Fits =>
  ({ headers: sent }) =>
    pattern.test(sent["if-none-match"] ?? "");

const ENCRYPTION = { ...RSA_KEY, kid: "enc-1", use: "enc", alg: "RSA-OAEP-256" };
/** With another order of members. */
const { kty, ...others } = EC_KEY;
const deep = `{"keys":[${JSON.stringify(EC_KEY).slice(0, -1)},"deep":${"[".repeat(50)}${"]".repeat(50)}}]}`;

test.each<readonly [string, Op]>([
  ["nothing", op()],
  ["no set", changed(op(), isSet, status(500))],
  ["a body that is no set", op({ text: "[]" })],
  [
    "other headers",
    op({ headers: { "content-type": "application/json", "cache-control": "max-age=60", allow: undefined } }),
  ],
  ["the lifetime of a rotation", op({ headers: { "cache-control": "public, max-age=300, must-revalidate" } })],
  ["another length", op({ headers: { "content-length": "1" } })],
  ["another ETag", op({ headers: { etag: '"a"' } })],
  ["no ETag", op({ headers: { etag: undefined } })],
  ["white space", op({ text: JSON.stringify({ keys: [EC_KEY] }, undefined, 2) })],
  ["other members of the set", op({ text: JSON.stringify({ keys: [EC_KEY], ttl: 1 }) })],
  ["a nested value", op({ text: deep })],
  ["no key", op({ keys: [] })],
  ["all kinds of keys", op({ keys: [EC_KEY, { ...EC_KEY, kid: "sig-2" }, RSA_KEY, ED_KEY, ENCRYPTION] })],
  ["a legacy key first", op({ keys: [RSA_KEY, EC_KEY] })],
  ["an encryption key before a legacy key", op({ keys: [EC_KEY, ENCRYPTION, RSA_KEY] })],
  ["another algorithm", op({ keys: [EC_KEY, { ...RSA_KEY, alg: "RS384" }] })],
  ["PS256", op({ keys: [EC_KEY, { ...RSA_KEY, alg: "PS256" }] })],
  ["no alg", op({ keys: [{ ...EC_KEY, alg: undefined }] })],
  ["no use", op({ keys: [{ ...EC_KEY, use: undefined }] })],
  ["another curve", op({ keys: [{ ...EC_KEY, crv: "P-384" }] })],
  ["another order of members", op({ keys: [{ ...others, kty }] })],
  ["another type", op({ keys: [EC_KEY, { kty: "AKP", alg: "ML-DSA-44", pub: "AA", kid: "m", use: "sig" }] })],
  ["no type and no kid", op({ keys: [{ crv: "P-256" }] })],
  ["a kid of 256 characters", op({ keys: [{ ...EC_KEY, kid: "k".repeat(256) }] })],
  ["a kid of 257 characters", op({ keys: [{ ...EC_KEY, kid: "k".repeat(257) }] })],
  [
    "a 304 with headers of a body",
    changed(op(), hasTag(/^"/), headers({ "content-type": "a", "content-length": "0" })),
  ],
  ["200 for its ETag", changed(op(), hasTag(/^"/), status(200))],
  ["304 for the weak form", changed(op(), hasTag(/^W/), status(304))],
  ["412 for the weak form", changed(op(), hasTag(/^W/), status(412))],
  ["405 without headers", changed(op(), by("POST", "OPTIONS", "PATCH"), status(405))],
  ["405 with other headers", changed(op(), by("POST"), headers({ allow: "GET", "cache-control": "no-cache" }))],
  ["204 for OPTIONS", changed(op(), by("OPTIONS"), status(204))],
  ["no answer to PATCH", changed(op(), by("PATCH"), () => ({ reason: "connection", detail: "ECONNRESET" }))],
  ["404 for a query", changed(op(), hasQuery, status(404))],
  ["another ETag for a query", changed(op(), hasQuery, headers({ etag: '"q"' }))],
  ["no answer to a query", changed(op(), hasQuery, () => ({ reason: "time", detail: "10 s" }))],
])("with %s", async (_name, server) => {
  const { rows } = await check(server, { isStrict: true });
  expect(wordsOf(rows.filter(({ rule }) => rule.startsWith("signpost-")))).toMatchSnapshot();
});
