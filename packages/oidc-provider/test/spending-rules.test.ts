import { createSecretKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  checkBeforeSpending,
  type Spendable,
  takesAuthorizationResponse,
  takesIdToken,
} from "../src/before-spending.ts";
import type { OidcProviderSigningLike, RequestContext } from "../src/host.ts";
import { resourceServerCheck, type SigningAbilities } from "../src/resource-servers.ts";

const requestOf = (client: object | undefined, params: Record<string, unknown> = {}): RequestContext => ({
  oidc: { client, params },
});
const spentWith = (...scopes: string[]): Spendable => ({ scopes: new Set(scopes) });
const ID_TOKENS = { idTokenSignedResponseAlg: "ES256" };
const JARM = { authorizationSignedResponseAlg: "ES256" };

describe("a grant takes an ID token that the plug signs", () => {
  test.each<[boolean, string, object | undefined, Record<string, unknown>, Spendable]>([
    [true, "if openid was granted", ID_TOKENS, {}, spentWith("openid")],
    [true, "if openid is asked for again", ID_TOKENS, { scope: "email openid" }, spentWith("openid", "email")],
    [true, "if no scope is asked for", ID_TOKENS, { scope: "" }, spentWith("openid")],
    [true, "if the scope is not a text", ID_TOKENS, { scope: ["email"] }, spentWith("openid")],
    [false, "but not if fewer scopes are asked for", ID_TOKENS, { scope: "email" }, spentWith("openid", "email")],
    [false, "but not if openid is only a part of a word", ID_TOKENS, { scope: "openid2" }, spentWith("openid")],
    [false, "but not if openid was not granted", ID_TOKENS, { scope: "openid" }, spentWith("email")],
    [false, "but not without scopes", ID_TOKENS, {}, {}],
    [false, "but not for another algorithm", { idTokenSignedResponseAlg: "RS256" }, {}, spentWith("openid")],
    [false, "but not for a client of JARM alone", JARM, {}, spentWith("openid")],
    [false, "but not without a client", undefined, {}, spentWith("openid")],
  ])("%s: %s", (expected, _when, client, params, spent) => {
    expect(takesIdToken(requestOf(client, params), spent)).toBe(expected);
  });

  test("not outside a request of the host", () => {
    expect(takesIdToken({}, spentWith("openid"))).toBe(false);
  });
});

describe("an authorization response takes a token that the plug signs", () => {
  test.each<[boolean, string, object | undefined, Record<string, unknown>]>([
    [true, "as JWT", JARM, { response_mode: "jwt" }],
    [true, "as JWT in a form", JARM, { response_mode: "form_post.jwt" }],
    [true, "with an ID token", ID_TOKENS, { response_type: "code id_token" }],
    [false, "not in another mode", JARM, { response_mode: "query" }],
    [false, "not with a code alone", ID_TOKENS, { response_type: "code" }],
    [false, "not as JWT of a client that signs only ID tokens", ID_TOKENS, { response_mode: "jwt" }],
    [false, "not with an ID token of a client that signs only JARM", JARM, { response_type: "id_token" }],
    [
      false,
      "not with a mode and a type that are no texts",
      { ...JARM, ...ID_TOKENS },
      { response_mode: 1, response_type: 1 },
    ],
    [false, "not without a client", undefined, { response_mode: "jwt", response_type: "id_token" }],
  ])("%s: %s", (expected, _how, client, params) => {
    expect(takesAuthorizationResponse(requestOf(client, params))).toBe(expected);
  });

  test("not outside a request of the host", () => {
    expect(takesAuthorizationResponse({})).toBe(false);
  });
});

describe("the resource server that is asked before a code is spent", () => {
  const abilities = { activeKid: () => "sig", host: {}, failure: (cause: unknown) => cause as Error };
  const ES256 = { accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } };

  /** What the check says, and which resources the OP was asked for. */
  async function ask(
    { requested, granted }: { readonly requested?: unknown; readonly granted?: unknown },
    info: (identifier: string) => unknown = () => ES256,
  ): Promise<{ result: unknown; asked: readonly string[] }> {
    const asked: string[] = [];
    const check = resourceServerCheck(abilities as unknown as SigningAbilities, (_context, identifier) => {
      asked.push(identifier);
      return info(identifier);
    });
    const context = requestOf({}, requested === undefined ? {} : { resource: requested });
    return { result: await check(context, { resource: granted }), asked };
  }

  test.each<[string, { readonly requested?: unknown; readonly granted?: unknown }, readonly string[]]>([
    ["the granted one", { granted: "a" }, ["a"]],
    ["the granted one of a list of one", { granted: ["a"] }, ["a"]],
    ["the requested one of several", { requested: "b", granted: ["a", "b"] }, ["b"]],
    ["the requested one in a list of one", { requested: ["b"], granted: ["a", "b"] }, ["b"]],
    ["none of several, of which the OP picks one", { granted: ["a", "b"] }, []],
    ["none that was not granted", { requested: "c", granted: ["a"] }, []],
    ["none if none was granted", {}, []],
  ])("is %s", async (_which, resources, asked) => {
    expect((await ask(resources)).asked).toEqual(asked);
  });

  test("may be gone if none was requested, but not if one was", async () => {
    const gone = new Error("no such resource");
    const fail = (): never => {
      throw gone;
    };
    expect((await ask({ granted: "a" }, fail)).result).toBe(false);
    await expect(ask({ requested: "a", granted: "a" }, fail)).rejects.toBe(gone);
  });

  test.each([null, undefined, "jwt", 7])("is left to the host if it is %j", async (info) => {
    expect((await ask({ granted: "a" }, () => info)).result).toBe(false);
  });

  const KEYS: Readonly<Record<string, KeyObject>> = {
    rsa: generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey,
    ec: generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey,
    x25519: generateKeyPairSync("x25519").publicKey,
    ed25519: generateKeyPairSync("ed25519").publicKey,
    secret: createSecretKey(Buffer.alloc(32)),
  };
  test.each<[what: string, jwt: object | undefined, result: boolean]>([
    ["nothing of JWTs", undefined, true],
    ["nothing of signing", {}, true],
    ["ES256", { sign: { alg: "ES256" } }, true],
    ["no algorithm", { sign: {} }, true],
    ["HMAC", { sign: { alg: "HS256", key: "secret" } }, false],
    ["RS256, which the host signs", { sign: { alg: "RS256" } }, false],
    ["only encryption, to a secret key", { encrypt: { alg: "dir", enc: "A256GCM", key: KEYS["secret"] } }, false],
  ])("that says %s takes a signature of the plug: %s", async (_what, jwt, result) => {
    const host = { hasNone: () => false, signs: () => true };
    const check = resourceServerCheck({ ...abilities, host } as unknown as SigningAbilities, () => ({
      accessTokenFormat: "jwt",
      jwt,
    }));
    expect(await check(requestOf({}), { resource: "a" })).toBe(result);
  });

  test.each<[alg: string, types: readonly string[]]>([
    ["RSA-OAEP-256", ["rsa"]],
    ["ECDH-ES", ["ec", "x25519"]],
    ["ECDH-ES+A256KW", ["ec", "x25519"]],
    ["A256KW", ["secret"]],
    ["dir", ["secret"]],
    // Of what is not known here, the host decides.
    ["direct", Object.keys(KEYS)],
    ["xdir", Object.keys(KEYS)],
    ["PBES2-HS256+A128KW", Object.keys(KEYS)],
    ["X-RSA-OAEP", Object.keys(KEYS)],
  ])("that encrypts with %s has a key of type %j", async (alg, types) => {
    const infoWith = (key: unknown) => () => ({
      accessTokenFormat: "jwt",
      jwt: { sign: { alg: "ES256" }, encrypt: { alg, enc: "A256GCM", key } },
    });
    const taken: string[] = [];
    for (const [type, key] of Object.entries(KEYS)) {
      const outcome = await ask({ granted: "a" }, infoWith(key)).catch(() => "refused");
      if (outcome !== "refused") taken.push(type);
    }
    expect(taken).toEqual(types);
  });

  test("signs nothing here if its tokens are opaque, or nothing was asked", async () => {
    expect((await ask({ granted: "a" }, () => ({ accessTokenFormat: "opaque" }))).result).toBe(false);
    expect((await ask({})).result).toBeUndefined();
  });
});

describe("what is used up once", () => {
  interface Kept {
    readonly jti: string;
    readonly adapter: { find(id: string): Promise<object | undefined> };
    consume(): Promise<void>;
  }

  /** A provider whose codes are kept by `consume`, while it answers `context`. */
  function host(consume: () => Promise<void>): { code(jti: string): Kept; answer(context: RequestContext): void } {
    class Twin {
      static ctx: RequestContext | undefined;
      readonly issuer = "https://op.example";
    }
    const names = [
      "AuthorizationCode",
      "RefreshToken",
      "DeviceCode",
      "BackchannelAuthenticationRequest",
      "PreAuthorizedCode",
      "PushedAuthorizationRequest",
    ];
    const provider = new Twin() as Twin & Record<string, { prototype: object }>;
    for (const name of names) Object.assign(provider, { [name]: { prototype: { consume } } });
    checkBeforeSpending(
      provider as unknown as OidcProviderSigningLike,
      async () => true,
      (cause) => cause as Error,
    );
    return {
      code: (jti) =>
        Object.assign(Object.create(provider["AuthorizationCode"]?.prototype ?? {}) as Kept, {
          jti,
          adapter: { find: async () => ({}) },
        }),
      answer: (context) => {
        Twin.ctx = { ...context, oidc: { ...context.oidc, provider } };
      },
    };
  }

  test("can be tried again after the host could not use it up", async () => {
    let attempts = 0;
    const { code, answer } = host(async () => {
      attempts += 1;
      if (attempts === 1) throw new Error("the database is away");
    });
    answer({ res: { destroyed: false } });
    await expect(code("a").consume()).rejects.toThrow("the database is away");
    answer({ res: { destroyed: false } });
    await expect(code("a").consume()).resolves.toBeUndefined();
    expect(attempts).toBe(2);
  });
});
