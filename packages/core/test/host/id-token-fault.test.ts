import { expect, test } from "vitest";
import { idTokenFault } from "@signpost/core/adapter";

const CLAIMS = { exp: 1_800_000_000, iat: 1_799_999_000 };

test.each([undefined, "JWT", "jwt", "application/jwt", "Application/JWT"])("an ID token may have the typ %s", (typ) => {
  expect(idTokenFault({ header: { typ }, claims: CLAIMS })).toBeUndefined();
});

test.each<unknown>([
  "at+jwt",
  "logout+jwt",
  "JWT2",
  "xJWT",
  "application/at+jwt",
  "xapplication/jwt",
  "application/",
  "",
  null,
  1,
  ["JWT"],
])("an ID token has not the typ %j", (typ) => {
  expect(idTokenFault({ header: { typ }, claims: CLAIMS })).toBe("its typ is not JWT");
});

test.each<[what: string, claims: Record<string, unknown>]>([
  ["no claims", {}],
  ["no exp, as userinfo may have none", { iat: CLAIMS.iat }],
  ["no iat, as an authorization response has none", { exp: CLAIMS.exp }],
  ["an exp that is a text", { ...CLAIMS, exp: "1800000000" }],
  ["an iat that is a text", { ...CLAIMS, iat: "1799999000" }],
  ["events, as a logout token has", { ...CLAIMS, events: {} }],
  ["events that are null", { ...CLAIMS, events: null }],
])("a token with %s is no ID token", (_what, claims) => {
  expect(idTokenFault({ header: { typ: "JWT" }, claims })).toBe("its claims are not those of an ID token");
});

test("other claims and other members of the header do not matter", () => {
  expect(idTokenFault({ header: { kid: 1 }, claims: { ...CLAIMS, nonce: "n", sid: 7 } })).toBeUndefined();
});
