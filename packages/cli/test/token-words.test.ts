import { describe, expect, test } from "vitest";
import { brokenRule, RULES, ruleResults } from "../src/verify/rules.ts";
import { firstAudience, readToken, type TokenSays } from "../src/verify/token.ts";
import { OPEN_WORDS, refusalHint, refusalWords, ruleWords, since, type Expected } from "../src/verify/words.ts";

// What `signpost verify` says of each rule, and of each refusal.

const NOW = 1_800_000_000;
const EXPECTED: Expected = {
  issuer: "https://op.example",
  audience: "client-1",
  algorithms: ["ES256", "RS256"],
  type: "id_token",
  place: "jwks.json",
  now: NOW,
};
const TOKEN: TokenSays = {
  header: { alg: "ES256", kid: "sig-1" },
  claims: { iss: "https://op.example", aud: ["client-1", "b"], iat: NOW - 60, exp: NOW + 240 },
};

test("each rule has its words", () => {
  expect(Object.fromEntries(RULES.map((rule) => [rule, ruleWords(rule, TOKEN, EXPECTED)]))).toEqual({
    form: "a compact JWS: a header, claims and a signature",
    algorithm: "ES256",
    type: "an ID token, typ none",
    key: "kid sig-1 in jwks.json",
    signature: "verifies with this key",
    issuer: "https://op.example",
    times: "issued 1 min ago, expires in 4 min",
    audience: '["client-1","b"]',
    claims: "all claims that this kind of token needs",
  });
  const of = (type: string) => ruleWords("type", { ...TOKEN, header: { typ: "at+jwt" } }, { ...EXPECTED, type });
  expect([of("access_token"), of("other")]).toEqual(["an access token, typ at+jwt", "other, typ at+jwt"]);
  expect(Object.keys(OPEN_WORDS)).toEqual(["issuer", "audience"]);
});

test.each<[claims: object, words: string]>([
  [{}, "no exp"],
  [{ iat: NOW, nbf: NOW + 1, exp: NOW - 1 }, "issued now, valid from in 1 s, expires 1 s ago"],
  [{ iat: "x" }, "issued at no time that is a number, no exp"],
])("the times of %j are %s", (claims, words) => {
  expect(ruleWords("times", { ...TOKEN, claims: { ...claims } }, EXPECTED)).toBe(words);
});

test.each<[time: unknown, words: string]>([
  [NOW, "now"],
  [NOW + 0.4, "now"],
  [NOW - 0.5, "1 s ago"],
  [NOW + 60, "in 1 min"],
  [NOW - 7800, "2 h 10 min ago"],
  [Infinity, "at no time that is a number"],
  ["1", "at no time that is a number"],
])("%j is %s", (time, words) => {
  expect(since(time, NOW)).toBe(words);
});

test.each<[value: unknown, shown: string]>([
  [undefined, "none"],
  ["", ""],
  [null, "null"],
  [7, "7"],
  ["a\u202eb", "a\\u202eb"],
  ["a".repeat(200), "a".repeat(200)],
  ["a".repeat(201), `${"a".repeat(200)}…`],
])("the value %j is shown as %j", (value, shown) => {
  expect(ruleWords("algorithm", { ...TOKEN, header: { alg: value } }, EXPECTED)).toBe(shown);
});

describe("a refusal", () => {
  test.each<[code: string, words: string, token?: Partial<TokenSays>]>([
    ["alg_not_allowed", "The header says ES256. Accepted: ES256, RS256"],
    ["invalid_typ", "The header says typ none, which is not that of an ID token"],
    ["unknown_kid", "jwks.json has no key with the kid sig-1"],
    ["missing_kid", "The header names no key (kid)"],
    ["bad_signature", "The signature was not made by the key sig-1 over this header and these claims"],
    ["invalid_issuer", "The token is from https://op.example, and not from https://op.example"],
    ["invalid_audience", 'The token is for ["client-1","b"], and not for client-1'],
    ["expired", "The token expired in 4 min"],
    ["not_yet_valid", "The token is not valid yet: issued 1 min ago, expires in 4 min"],
    [
      "not_yet_valid",
      "The token is not valid yet: no exp, user authenticated in 5 min",
      { claims: { auth_time: NOW + 300 } },
    ],
    ["other", "a message\\u202e"],
  ])("%s says %s", (code, words, token = {}) => {
    expect(refusalWords(code, "a message\u202e", { ...TOKEN, ...token }, EXPECTED)).toBe(words);
  });

  const LEFT_OUT = " (left out of the set: malformed (kid))";
  test.each([
    ["no key with this kid", ""],
    ["no key with this kid, even after a refetch", ", even when fetched again"],
    [`no key with this kid${LEFT_OUT}`, LEFT_OUT],
    [`no key with this kid${LEFT_OUT}, even after a refetch`, `${LEFT_OUT}, even when fetched again`],
  ])("of a kid says what the error says after it: %s", (message, after) => {
    expect(refusalWords("unknown_kid", message, TOKEN, EXPECTED)).toBe(
      `jwks.json has no key with the kid sig-1${after}`,
    );
  });

  test.each<[code: string, message: string, alg: unknown, hint: string | undefined]>([
    ["alg_not_allowed", "", "PS256", "To accept it: --alg PS256"],
    ["alg_not_allowed", "", "EdDSA", "To accept it: --alg EdDSA"],
    ["alg_not_allowed", "", "HS256", undefined],
    ["alg_not_allowed", "", "none", undefined],
    ["alg_not_allowed", "", "ES256 x", undefined],
    ["alg_not_allowed", "", "xES256", undefined],
    ["alg_not_allowed", "", 7, undefined],
    ["invalid_typ", "", "ES256", "Another kind of token? Name it with --type"],
    ["not_yet_valid", "", "ES256", "Compare the clock of this machine with that of the OP"],
    [
      "unknown_kid",
      "",
      "ES256",
      "A new key must be published before it signs. An old one must stay published until its tokens have expired",
    ],
    [
      "unknown_kid",
      LEFT_OUT,
      "ES256",
      "The key may be in an entry that was left out. signpost check says what is wrong with each entry",
    ],
    ["expired", "", "ES256", undefined],
  ])("%s %j of a token with %j has its hint", (code, message, alg, hint) => {
    expect(refusalHint(code, message, { ...TOKEN, header: { alg } })).toBe(hint);
  });
});

describe("the rule that a token breaks", () => {
  test.each([
    ["malformed_jwt", "form"],
    ["unsupported_header", "form"],
    ["alg_not_allowed", "algorithm"],
    ["unsupported_alg", "algorithm"],
    ["invalid_typ", "type"],
    ["missing_kid", "key"],
    ["unknown_kid", "key"],
    ["no_suitable_key", "key"],
    ["key_left_out", "key"],
    ["kid_rebound", "key"],
    ["ambiguous_key", "key"],
    ["bad_signature", "signature"],
    ["invalid_issuer", "issuer"],
    ["expired", "times"],
    ["not_yet_valid", "times"],
    ["lifetime_too_long", "times"],
    ["invalid_audience", "audience"],
    ["insufficient_scope", "claims"],
    ["invalid_claim", "claims"],
    ["away", undefined],
  ])("by the code %s is %s", (code, rule) => {
    expect(brokenRule(code, undefined)).toBe(rule);
    expect(brokenRule(code, "sub")).toBe(rule);
  });

  test.each([
    ["iss", "issuer"],
    ["aud", "audience"],
    ["azp", "audience"],
    ["exp", "times"],
    ["iat", "times"],
    ["nbf", "times"],
    ["sub", "claims"],
  ])("by the claim %s is %s", (claim, rule) => {
    expect(brokenRule("invalid_claim", claim)).toBe(rule);
    expect(brokenRule("expired", claim)).toBe("times");
  });

  test("ends the others", () => {
    const states = (results: ReturnType<typeof ruleResults>) => results.map(({ state }) => state);
    expect(states(ruleResults(undefined, new Set(["audience"])))).toEqual([
      ...Array.from({ length: 7 }, () => "passed"),
      "open",
      "passed",
    ]);
    expect(states(ruleResults("key", new Set(["key", "issuer"])))).toEqual([
      "passed",
      "passed",
      "passed",
      "failed",
      ...Array.from({ length: 5 }, () => "not reached"),
    ]);
    expect(ruleResults("form", new Set()).map(({ rule }) => rule)).toEqual(RULES);
  });
});

describe("a token says", () => {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  test.each<[token: string, says: TokenSays]>([
    [`${part({ alg: "a" })}.${part({ iss: "b" })}.c`, { header: { alg: "a" }, claims: { iss: "b" } }],
    [`${part([])}.${part("x")}`, { header: {}, claims: {} }],
    ["x.y", { header: {}, claims: {} }],
    ["", { header: {}, claims: {} }],
  ])("%s", (token, says) => {
    expect(readToken(token)).toEqual(says);
  });

  test.each([
    ["a", "a"],
    [["a", "b"], "a"],
    ["", undefined],
    [[], undefined],
    [[7], undefined],
    [undefined, undefined],
  ])("the first audience of %j is %j", (aud, first) => {
    expect(firstAudience({ aud })).toBe(first);
  });
});
