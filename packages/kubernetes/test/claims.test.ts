import { describe, expect, test } from "vitest";
import { createKubernetesSigner, KubernetesRequestError, type KubernetesSigner } from "@signpost/kubernetes";
import { openLocalSigner } from "@signpost/local";
import { createLocalJWKSet, exportJWK, jwtVerify } from "jose";
import { createPublicKey } from "node:crypto";
import { checkClaims, readClaims } from "../src/signer/claims.ts";
import { claimsOf, encoded, ISSUER } from "./support/claims.ts";

// Which claims are signed, and which are refused with which code.

const signer = createKubernetesSigner({
  issuer: ISSUER,
  keys: [{ keyId: "sa-1", signer: await openLocalSigner() }],
  maxTokenLifetimeSeconds: 3600,
});

async function verify(from: KubernetesSigner, token: string): ReturnType<typeof jwtVerify> {
  const keys = await Promise.all(
    from.fetchKeys().keys.map(async ({ keyId, spki }) => ({
      ...(await exportJWK(createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" }))),
      kid: keyId,
    })),
  );
  return jwtVerify(token, createLocalJWKSet({ keys }));
}

test("the token has the claims byte for byte, and a header of exactly alg, kid and typ", async () => {
  // White space and an order of members that no encoder would choose.
  const iat = Math.floor(Date.now() / 1000);
  const text = `{ "iat":${iat},\n "exp":${iat + 600}, "iss": "${ISSUER}", "sub":"a" , "unknown": [1e2, "\\u00e9"]}`;
  const claims = Buffer.from(text).toString("base64url");
  const { header, signature, keyId } = await signer.sign(claims);
  expect(Buffer.from(header, "base64url").toString()).toBe('{"alg":"ES256","kid":"sa-1","typ":"JWT"}');
  expect(keyId).toBe("sa-1");
  const { payload } = await verify(signer, `${header}.${claims}.${signature}`);
  expect(payload).toEqual(JSON.parse(text));
});

const NOW = Math.floor(Date.now() / 1000);
/** Claims with more members in front, which are there a second time or have members twice. */
const withText = (members: string): string =>
  Buffer.from(`{${members},${Buffer.from(claimsOf(), "base64url").toString().slice(1)}`).toString("base64url");
const REFUSED: readonly (readonly [what: string, claims: string, code: string])[] = [
  ["nothing", "", "invalid_claims"],
  ["padding", `${encoded({ a: 1 })}==`, "invalid_claims"],
  ["the alphabet of base64", Buffer.from('{"a":"???>>>"}').toString("base64"), "invalid_claims"],
  ["a line end", `${claimsOf()}\n`, "invalid_claims"],
  ["trailing bits", "e31", "invalid_claims"],
  ["a character more", `${claimsOf()}A`, "invalid_claims"],
  ["text that is no JSON", Buffer.from("{").toString("base64url"), "invalid_claims"],
  ["bytes that are no UTF-8", Buffer.from([0x22, 0xff, 0x22]).toString("base64url"), "invalid_claims"],
  ["a byte order mark", Buffer.from("\uFEFF{}").toString("base64url"), "invalid_claims"],
  ["a list", encoded([]), "invalid_claims"],
  ["null", encoded(null), "invalid_claims"],
  ["no issuer", claimsOf({ iss: undefined }), "wrong_issuer"],
  ["another issuer", claimsOf({ iss: `${ISSUER}/` }), "wrong_issuer"],
  ["a list of issuers", claimsOf({ iss: [ISSUER] }), "wrong_issuer"],
  ["no iat", claimsOf({ iat: undefined }), "invalid_claims"],
  ["no exp", claimsOf({ exp: undefined }), "invalid_claims"],
  ["a fraction", claimsOf({ exp: NOW + 0.5, iat: NOW }), "invalid_claims"],
  ["a text as exp", claimsOf({ exp: String(NOW), iat: NOW }), "invalid_claims"],
  ["more than a safe integer", claimsOf({ exp: 2 ** 53, iat: NOW }), "invalid_claims"],
  ["a time before 1970", claimsOf({ exp: 600, iat: -1 }), "invalid_claims"],
  ["exp at iat", claimsOf({ exp: NOW, iat: NOW }), "lifetime_invalid"],
  ["exp before iat", claimsOf({ exp: NOW - 1, iat: NOW }), "lifetime_invalid"],
  [
    "an issue far in the future",
    claimsOf({ exp: NOW + 86_400 * 365, iat: NOW + 86_400 * 365 - 600 }),
    "lifetime_invalid",
  ],
  ["an issue in two days", claimsOf({ exp: NOW + 173_400, iat: NOW + 172_800 }), "lifetime_invalid"],
  ["a second iss", withText('"iss":"https://other.example"'), "invalid_claims"],
  ["a second exp, which is too late", withText(`"exp":${NOW + 86_400 * 365}`), "invalid_claims"],
  ["a second name that is escaped", withText(String.raw`"\u0073ub":"other"`), "invalid_claims"],
  ["a name twice deeper inside", withText('"a":[{"namespace":"b","namespace":"c"}]'), "invalid_claims"],
  ["a second too much", claimsOf({ exp: NOW + 3601, iat: NOW }), "lifetime_too_long"],
];

describe("refused:", () => {
  test.each(REFUSED)("%s", async (_what, claims, code) => {
    const error: unknown = await signer.sign(claims).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KubernetesRequestError);
    expect(error).toMatchObject({ code });
  });
});

test("an iat hours ahead is allowed: a clock that is wrong must not end the signing", async () => {
  const iat = NOW + 82_800;
  await expect(signer.sign(claimsOf({ exp: iat + 600, iat }))).resolves.toMatchObject({ keyId: "sa-1" });
});

test("a name that is there twice in different objects, or as a value, is allowed", async () => {
  const claims = withText('"a":{"iss":"exp"},"b":["iss","iss"]');
  await expect(signer.sign(claims)).resolves.toMatchObject({ keyId: "sa-1" });
});

test("the longest lifetime is allowed", async () => {
  await expect(signer.sign(claimsOf({ exp: NOW + 3600, iat: NOW }))).resolves.toMatchObject({ keyId: "sa-1" });
});

test("an audit learns jti and sub before the claims are checked, and nothing else", async () => {
  const seen: unknown[] = [];
  const onClaims = (subject: unknown): void => void seen.push(subject);
  await signer.sign(claimsOf({ iss: "other", secret: "claim" }), { onClaims }).catch(() => undefined);
  await signer.sign(claimsOf({ jti: 7, sub: undefined }), { onClaims });
  await signer.sign("", { onClaims }).catch(() => undefined);
  expect(seen).toEqual([
    { jti: "0c6f1b0c-2d5b-4a2c-9c57-6f9f0f9a6c11", sub: "system:serviceaccount:default:builder" },
    { jti: undefined, sub: undefined },
  ]);
});

test("a signal aborts the signing", async () => {
  const sign = signer.sign(claimsOf(), { signal: AbortSignal.abort() });
  await expect(sign).rejects.toMatchObject({ code: "aborted" });
});

describe("at the limits", () => {
  const TIME = 1_700_000_000;
  const check = (members: object, rules: object = {}): void =>
    checkClaims(readClaims(encoded({ iss: ISSUER, ...members })), {
      issuer: ISSUER,
      maxTokenLifetimeSeconds: 3600,
      time: 1000 * TIME,
      ...rules,
    });

  test.each([
    ["a lifetime of one second", { iat: TIME, exp: TIME + 1 }],
    ["the longest lifetime", { iat: TIME, exp: TIME + 3600 }],
    ["the year 1970", { iat: 0, exp: 1 }],
    ["a day in the future", { iat: TIME + 86_400, exp: TIME + 86_401 }],
  ])("%s is allowed", (_what, members) => {
    expect(() => check(members)).not.toThrow();
  });

  test.each([
    ["a day and a second in the future", { iat: TIME + 86_401, exp: TIME + 86_402 }, "lifetime_invalid", /^iat: /],
    ["no lifetime", { iat: TIME, exp: TIME }, "lifetime_invalid", /^exp: expected a time after iat/],
    [
      "a second too long",
      { iat: TIME, exp: TIME + 3601 },
      "lifetime_too_long",
      /^exp: expected at most 3600 s .*3601 s/,
    ],
    ["an iat that is no whole number", { iat: "a", exp: TIME }, "invalid_claims", /^iat: /],
    ["an exp that is no whole number", { iat: TIME, exp: null }, "invalid_claims", /^exp: /],
  ])("%s is refused", (_what, members, code, message) => {
    const error = expect.objectContaining({ code, message: expect.stringMatching(message) });
    expect(() => check(members)).toThrow(error);
  });
});
