import { createJwksEndpoint, createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { expect, onTestFinished, test } from "vitest";
import { changed, check, ED_KEY, EC_KEY, ISSUER, op, RSA_KEY, wordsOf } from "./support/op.ts";
import type { Op } from "./support/op.ts";

const RS256 = { id_token_signing_alg_values_supported: ["RS256"] };

/** OPs that keep every rule of the standards. */
const GOOD: readonly (readonly [string, Op])[] = [
  ["an ES256 key", op()],
  ["an RS256 key", op({ keys: [RSA_KEY], metadata: RS256 })],
  ["keys of several types", op({ keys: [EC_KEY, RSA_KEY, ED_KEY] })],
  ["one key without alg and use", op({ keys: [{ ...EC_KEY, alg: undefined, use: undefined }] })],
  ["key_ops instead of use", op({ keys: [{ ...EC_KEY, use: undefined, key_ops: ["verify"] }] })],
  ["an encryption key too", op({ keys: [EC_KEY, { ...RSA_KEY, kid: "enc-1", use: "enc", alg: "RSA-OAEP-256" }] })],
  ["members that are not registered", op({ keys: [{ ...EC_KEY, iat: 1, note: "n", q: "q", k: "k" }] })],
  ["white space and other members in the set", op({ text: JSON.stringify({ keys: [EC_KEY], ttl: 5 }, undefined, 2) })],
  ["the media type in capitals", op({ headers: { "content-type": "Application/JWK-Set+JSON" } })],
  [
    "a lifetime from Expires",
    op({ headers: { "cache-control": undefined, expires: "Sun, 01 Nov 2026 13:00:00 GMT" } }),
  ],
  ["Cache-Control in two lines", op({ headers: { "cache-control": ["public", "max-age=300"] } })],
  ["Vary: Accept-Encoding", op({ headers: { vary: "Accept-Encoding" } })],
  ["an Age within the lifetime", op({ headers: { age: "7200" } })],
  ["no Content-Length for HEAD", changed(op(), ({ method }) => method === "HEAD", withoutLength)],
  ["404 for the other discovery document", op()],
];

function withoutLength(reply: Exclude<ReturnType<Op>, { reason: string }>): typeof reply {
  return { ...reply, headers: { ...reply.headers, "content-length": undefined } };
}

test.each(GOOD)("%s: nothing to say", async (_name, server) => {
  const report = await check(server);
  expect(report.rows.flatMap(({ rule, findings }) => findings.map((finding) => [rule, finding]))).toEqual([
    // The OP in memory compares by bytes, as Signpost does.
    ["304-weak", expect.objectContaining({ severity: "note" })],
  ]);
  expect(report).toMatchObject({ isOk: true, unreachable: undefined, jwksUrl: `${ISSUER}/jwks` });
  expect(wordsOf(report.rows)).toMatchSnapshot();
});

test.each([false, true])("Signpost's own endpoint keeps its own contract too (weak comparison: %s)", async (isWeak) => {
  const signer = await openLocalSigner();
  onTestFinished(() => signer.close());
  const keys = createKeySet([{ signer }]);
  const endpoint = createJwksEndpoint({ issuer: ISSUER, keys, weakIfNoneMatch: isWeak ? "match" : "ignore" });
  const server = changed(
    op({ metadata: { ...endpoint.metadata } }),
    ({ url }) => new URL(url).pathname === "/jwks",
    (_reply, { method, headers }) => {
      const { status, headers: sent, body } = endpoint.respond(method, headers["if-none-match"]);
      return { status, headers: sent, body: body ?? "" };
    },
  );
  const report = await check(server, { isStrict: true });
  const notes = report.rows
    .filter(({ verdict }) => verdict !== "ok" && verdict !== "skipped")
    .map(({ rule, verdict }) => [rule, verdict]);
  expect(notes).toEqual([[isWeak ? "signpost-weak" : "304-weak", "note"]]);
  expect(
    report.rows.filter(({ rule }) => rule.startsWith("signpost-")).every(({ verdict }) => verdict !== "skipped"),
  ).toBe(true);
});

test("every rule has a clause, and its own name", async () => {
  const { rows } = await check(op(), { isStrict: true });
  expect(new Set(rows.map(({ rule }) => rule)).size).toBe(rows.length);
  expect(rows.every(({ clause, title }) => clause !== "" && title !== "")).toBe(true);
});
