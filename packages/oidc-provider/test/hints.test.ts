import { createSecretKey, generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { accepted, hint, HINT_CLIENT, hintWith } from "./support/hints.ts";
import { browser, type Op, published, startOp } from "./support/op.ts";

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const HMAC_CLIENT = {
  ...HINT_CLIENT,
  client_id: "hmac",
  client_secret: "a secret of at least 32 bytes, only for this test",
  id_token_signed_response_alg: "HS256",
} as const;
let op: Op;
beforeAll(async () => {
  const keys = createKeySet([{ keyId: "a", signer: await openLocalSigner({ privateKey }) }]);
  const enabledJWA = { idTokenSigningAlgValues: ["ES256", "HS256"] as const };
  op = await startOp({ keys, configuration: { enabledJWA, clients: [HINT_CLIENT, HMAC_CLIENT] } });
});
afterAll(() => {
  op.close();
});

/** By the authorization endpoint: a hint that is refused comes back as an error, any other leads on. */
async function acceptedAtAuthorization(token: string): Promise<boolean> {
  const url = new URL(`${op.issuer}/auth`);
  const query = { client_id: "rp", scope: "openid", response_type: "code", state: "s", id_token_hint: token };
  for (const [name, value] of Object.entries({ ...query, ...PKCE })) url.searchParams.set(name, value);
  const ended = await browser(op.issuer)(url);
  return ended instanceof URL && ended.searchParams.get("error") !== "invalid_request";
}

const PKCE = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };

const REFUSED = [
  ["without a kid", { alg: "ES256" }],
  ["with a number for a kid", { alg: "ES256", kid: 1 }],
  ["with null for a kid", { alg: "ES256", kid: null }],
  ["with a list for a kid", { alg: "ES256", kid: ["a"] }],
  ["with an empty kid", { alg: "ES256", kid: "" }],
  ["as an access token", { alg: "ES256", kid: "a", typ: "at+jwt" }],
  ["as a logout token", { alg: "ES256", kid: "a", typ: "logout+jwt" }],
  ["with a typ that only begins like it", { alg: "ES256", kid: "a", typ: "JWTs" }],
  ["with a typ of another kind", { alg: "ES256", kid: "a", typ: "text/jwt" }],
  ["with a number for a typ", { alg: "ES256", kid: "a", typ: 1 }],
  ["with a list for a typ", { alg: "ES256", kid: "a", typ: ["JWT"] }],
] as const;

describe("an id_token_hint of the key that signs", () => {
  test("is accepted with its kid", async () => {
    const token = await hint(op.issuer, "a", privateKey);
    expect(await accepted(op, token)).toBe(true);
    expect(await acceptedAtAuthorization(token)).toBe(true);
  });

  test("is accepted as a JWT", async () => {
    expect(await accepted(op, await hintWith({ alg: "ES256", kid: "a", typ: "JWT" }, op.issuer, privateKey))).toBe(
      true,
    );
  });

  test.each(REFUSED)("is refused %s", async (_name, header) => {
    const token = await hintWith(header, op.issuer, privateKey);
    expect(await accepted(op, token)).toBe(false);
    expect(await acceptedAtAuthorization(token)).toBe(false);
  });
});

test.each([
  ["a logout token", { events: { "http://schemas.openid.net/event/backchannel-logout": {} } }],
  ["userinfo of a token without exp", { exp: undefined }],
  ["an authorization response", { iat: undefined }],
  ["a JWT whose exp is text", { exp: "1700000300" }],
])("%s without a typ is refused as a hint", async (_name, claims) => {
  const token = await hintWith({ alg: "ES256", kid: "a" }, op.issuer, privateKey, HINT_CLIENT.client_id, claims);
  expect(await accepted(op, token)).toBe(false);
  expect(await acceptedAtAuthorization(token)).toBe(false);
});

test("a hint of a client that agreed on HMAC has no kid, and is accepted if it is an ID token", async () => {
  const key = createSecretKey(Buffer.from(HMAC_CLIENT.client_secret));
  const token = await hintWith({ alg: "HS256" }, op.issuer, key, HMAC_CLIENT.client_id);
  expect(await accepted(op, token)).toBe(true);
  const logout = await hintWith({ alg: "HS256", typ: "logout+jwt" }, op.issuer, key, HMAC_CLIENT.client_id);
  expect(await accepted(op, logout)).toBe(false);
});

test("a hint of the ES256 key that the host signed with before is accepted while that key is retiring", async () => {
  const old = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicKey = old.publicKey.export({ format: "pem", type: "spki" }).toString();
  const moved = await startOp({
    keys: createKeySet([
      { keyId: "a", signer: await openLocalSigner({ privateKey }) },
      { keyId: "old", publicKey },
    ]),
    configuration: { clients: [HINT_CLIENT] },
  });
  try {
    expect((await published(moved)).keys.map(({ kid }) => kid)).toEqual(["a", "old"]);
    expect(await accepted(moved, await hint(moved.issuer, "old", old.privateKey))).toBe(true);
  } finally {
    moved.close();
  }
});
