import { betterAuth } from "better-auth";
import { APIError } from "better-auth/api";
import { memoryAdapter } from "better-auth/adapters/memory";
import { jwt } from "better-auth/plugins";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oauthProvider } from "@better-auth/oauth-provider";
import {
  createJwksEndpoint,
  createKeySet,
  type JwksEndpointOptions,
  type KeySet,
  type Signer,
  SignerError,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostJwt } from "../src/index.ts";

const ISSUER = "https://op.example";
let signer: Signer;
let keys: KeySet;

beforeAll(async () => {
  signer = await openLocalSigner();
  keys = createKeySet([{ keyId: "sig", signer }]);
});
afterAll(() => signer.close());

function plugin(options: object = {}, endpoint: Partial<JwksEndpointOptions> = {}): ReturnType<typeof jwt> {
  const jwks = createJwksEndpoint({ issuer: ISSUER, mountPrefix: "/api/auth", keys, ...endpoint });
  return signpostJwt(Object.assign({ jwt, APIError, keys, endpoint: jwks }, options));
}

describe("options of jwt() that need a key of the host, or another algorithm, are refused at construction", () => {
  test.each([
    ["sessionCookieCache", { sessionCookieCache: true }, "options.sessionCookieCache: not allowed"],
    ["an adapter", { adapter: { getJwks: async () => [] } }, "options.adapter: not allowed"],
    ["another signing function", { jwt: { sign: async () => "" } }, "options.jwt.sign: not allowed"],
    ["another URL", { jwks: { remoteUrl: "https://cdn.example/jwks" } }, "options.jwks.remoteUrl: not allowed"],
    ["another path", { jwks: { jwksPath: "/keys" } }, "options.jwks.jwksPath: not allowed"],
    ["an interval", { jwks: { rotationInterval: 60 } }, "options.jwks.rotationInterval: not allowed"],
    ["a grace period", { jwks: { gracePeriod: 60 } }, "options.jwks.gracePeriod: not allowed"],
    [
      "plain keys",
      { jwks: { disablePrivateKeyEncryption: true } },
      "options.jwks.disablePrivateKeyEncryption: not allowed",
    ],
    ["EdDSA", { jwks: { keyPairConfig: { alg: "EdDSA" } } }, 'options.jwks.keyPairConfig.alg: expected "ES256"'],
    [
      "RS256 too",
      { jwks: { keyPairConfigs: [{ alg: "RS256" }] } },
      'options.jwks.keyPairConfigs.alg: expected "ES256"',
    ],
    ["jwks that is no object", { jwks: 3 }, "options.jwks: expected an object, got 3"],
    ["jwks that is a list", { jwks: [] }, "options.jwks: expected an object"],
    ["jwks that is null", { jwks: null }, "options.jwks: expected an object, got null"],
    ["jwt that is no object", { jwt: "a" }, "options.jwt: expected an object"],
  ])("%s", (_, options, message) => {
    expect(() => plugin({ options })).toThrow(message);
  });

  test.each([3, [], null])("options that are %j", (options) => {
    expect(() => plugin({ options })).toThrow("options: expected an object");
  });

  test("one that is false is allowed: the host does the same without it", () => {
    expect(() => plugin({ options: { sessionCookieCache: false } })).not.toThrow();
    expect(() => plugin({ options: { jwks: { disablePrivateKeyEncryption: false } } })).not.toThrow();
  });

  test("other options of jwt() stay, and the rest of its options for tokens", () => {
    const { options } = plugin({ options: { schema: { jwks: {} }, jwt: { expirationTime: "1h" } } });
    expect(options).toMatchObject({ schema: { jwks: {} }, jwt: { expirationTime: "1h", issuer: ISSUER } });
    expect(options).toHaveProperty("jwks", {
      remoteUrl: `${ISSUER}/api/auth/jwks`,
      keyPairConfig: { alg: "ES256" },
    });
  });

  test("ES256 may be named", () => {
    expect(() => plugin({ options: { jwks: { keyPairConfig: { alg: "ES256" } } } })).not.toThrow();
  });
});

test("an option of jwt() that is undefined keeps its default", () => {
  const { options } = plugin({ options: { disableSettingJwtHeader: undefined, jwt: { issuer: undefined } } });
  expect(options).toMatchObject({ disableSettingJwtHeader: true, jwt: { issuer: ISSUER } });
  expect(plugin({ options: { jwt: { issuer: "https://id.example" } } }).options).toMatchObject({
    jwt: { issuer: "https://id.example" },
  });
  expect(plugin({ options: { disableSettingJwtHeader: false } }).options).toMatchObject({
    disableSettingJwtHeader: false,
  });
});

describe("each argument is checked", () => {
  test.each([
    ["jwt", { jwt: undefined }, 'jwt: expected the jwt of "better-auth/plugins"'],
    ["APIError", { APIError: 4 }, 'APIError: expected the APIError of "better-auth/api"'],
    ["endpoint", { endpoint: {} }, "endpoint: expected the result of createJwksEndpoint"],
    ...["respond", "matches", "jwksUri"].map((name): [string, object, string] => [
      `endpoint without ${name}`,
      { endpoint: { respond: () => {}, matches: () => true, jwksUri: "https://op.example/jwks", [name]: undefined } },
      "endpoint: expected the result of createJwksEndpoint",
    ]),
    ["keys", { keys: undefined }, "keys: expected"],
    ["servesEndpoint", { servesEndpoint: "no" }, "servesEndpoint: expected true or false"],
    ["verify", { verify: "never" }, 'verify: expected "always" or "first"'],
    ["onError", { onError: 1 }, "onError"],
    ["an unknown name", { key: 1 }, "keys"],
  ])("%s", (_, options, message) => {
    expect(() => plugin(options)).toThrow(message);
  });
});

describe("what only the host knows is checked when it starts", () => {
  interface Started {
    readonly $context: Promise<unknown>;
    readonly handler: (request: Request) => Promise<Response>;
    readonly api: object;
  }

  function create(jwtPlugin: ReturnType<typeof jwt>, host: object = { baseURL: ISSUER }): Started {
    return betterAuth({
      ...host,
      secret: "a secret of this test, which is long enough",
      database: memoryAdapter({ oauthResource: [], oauthClient: [] }),
      telemetry: { enabled: false },
      logger: { disabled: true },
      plugins: [jwtPlugin, ...((host as { plugins?: never[] }).plugins ?? [])],
    });
  }

  function start(...settings: Parameters<typeof create>): Promise<unknown> {
    return create(...settings).$context;
  }

  async function statusOf({ handler }: Started, path: string): Promise<number> {
    return (await handler(new Request(`${ISSUER}${path}`))).status;
  }

  test("an endpoint outside the host's base path is refused, with the option that mends it", async () => {
    await expect(start(plugin({}, { mountPrefix: "" }))).rejects.toThrow(
      'endpoint: expected a jwksUri below https://op.example/api/auth/, where better-auth answers, got https://op.example/jwks; create the endpoint with mountPrefix: "/api/auth"',
    );
  });

  test("an endpoint whose path only begins like the host's base path is refused", async () => {
    const message = "endpoint: expected a jwksUri below https://op.example/api/auth/";
    await expect(start(plugin({}, { mountPrefix: "/api/auth2" }))).rejects.toThrow(message);
    await expect(
      start(plugin({}, { mountPrefix: "/api/auth2" }), { baseURL: { allowedHosts: ["op.example"] } }),
    ).rejects.toThrow("endpoint: expected a jwksUri below /api/auth/");
  });

  test.each(["https://op.example:443", "https://OP.example", "https://op.example/", "https://op.example/api/auth"])(
    "a host at %s serves the endpoint of https://op.example",
    async (baseURL) => {
      expect(await statusOf(create(plugin(), { baseURL }), "/api/auth/jwks")).toBe(200);
    },
  );

  test("a base path of one slash is the root", async () => {
    const host = create(plugin({}, { mountPrefix: "" }), { baseURL: ISSUER, basePath: "/" });
    expect(await statusOf(host, "/jwks")).toBe(200);
  });

  test("a base URL to which the host would join a second slash is refused", async () => {
    await expect(start(plugin(), { baseURL: `${ISSUER}/api/auth/` })).rejects.toThrow(
      "baseURL: expected a URL without a slash at the end, got https://op.example/api/auth/: better-auth would announce https://op.example/api/auth//jwks",
    );
  });

  test("an endpoint that something else serves may be anywhere", async () => {
    await expect(start(plugin({ servesEndpoint: false }, { mountPrefix: "" }))).resolves.toBeDefined();
  });

  test("a base path of the host is the prefix of the endpoint", async () => {
    const host = create(plugin({}, { mountPrefix: "/auth" }), { baseURL: ISSUER, basePath: "/auth" });
    expect(await statusOf(host, "/auth/jwks")).toBe(200);
  });

  test("a host that learns its URL from requests serves the endpoint too", async () => {
    const host = create(plugin(), { baseURL: { allowedHosts: ["op.example"] } });
    expect(await statusOf(host, "/api/auth/jwks")).toBe(200);
    await expect(start(plugin({}, { mountPrefix: "" }), { baseURL: { allowedHosts: ["op.example"] } })).rejects.toThrow(
      "endpoint: expected a jwksUri below /api/auth/",
    );
  });

  test("jwt() next to the plug is refused, in each order", async () => {
    const problem = 'plugins: expected one plugin with the id "jwt", got 2: signpostJwt replaces jwt()';
    await expect(start(plugin(), { baseURL: ISSUER, plugins: [jwt()] })).rejects.toThrow(problem);
    await expect(start(jwt(), { baseURL: ISSUER, plugins: [plugin()] })).rejects.toThrow(problem);
  });

  test("a base path without a slash at its start is the same base path", async () => {
    const host = { baseURL: { allowedHosts: ["op.example"] }, basePath: "auth" };
    expect(await statusOf(create(plugin({}, { mountPrefix: "/auth" }), host), "/auth/jwks")).toBe(200);
  });

  test("at another path than the host's own, the endpoint is the only key set", async () => {
    const host = create(plugin({}, { endpoints: { jwks: "/keys" } }));
    expect(await statusOf(host, "/api/auth/keys")).toBe(200);
    expect(await statusOf(host, "/api/auth/jwks")).toBe(404);
  });

  test("a provider that signs with the secrets of its clients is not turned away while the key is unavailable", async () => {
    const away: Signer = { ...signer, sign: () => Promise.reject(new SignerError("unavailable", "away")) };
    const broken = createKeySet([{ keyId: "sig", signer: away }]);
    const provider = (settings: object) =>
      oauthProvider({
        loginPage: "/login",
        consentPage: "/consent",
        silenceWarnings: { oauthAuthServerConfig: true },
        ...settings,
      });
    const spend = async (settings: object): Promise<number> => {
      const host = create(plugin({ keys: broken }, { keys: broken }), {
        baseURL: ISSUER,
        plugins: [provider(settings)],
      });
      const api = host.api as { signJWT(call: { body: { payload: object } }): Promise<unknown> };
      await expect(api.signJWT({ body: { payload: { sub: "a" } } })).rejects.toThrow();
      const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: "a" });
      return (await host.handler(new Request(`${ISSUER}/api/auth/oauth2/token`, { method: "POST", body }))).status;
    };
    expect([await spend({}), await spend({ disableJwtPlugin: true })]).toEqual([503, 400]);
  });

  test("a resource that names ES256, or nothing, is taken", async () => {
    for (const pin of [{}, { signingAlgorithm: "ES256" }, { signingAlgorithm: null, signingKeyId: null }]) {
      const resources = [{ identifier: "https://api.example", ...pin } as never];
      const provider = oauthProvider({ loginPage: "/login", consentPage: "/consent", resources });
      await expect(start(plugin(), { baseURL: ISSUER, plugins: [provider] })).resolves.toBeDefined();
    }
  });

  test.each([
    [
      "another algorithm",
      { signingAlgorithm: "RS256" },
      'signingAlgorithm: the resource "https://api.example" of oauthProvider: expected "ES256"',
    ],
    [
      "one key",
      { signingKeyId: "sig" },
      'signingKeyId: the resource "https://api.example" of oauthProvider: not allowed',
    ],
  ])("a resource that asks for %s is refused", async (_, pin, message) => {
    const provider = oauthProvider({
      loginPage: "/login",
      consentPage: "/consent",
      resources: [{ identifier: "https://api.example", ...pin } as never],
    });
    await expect(start(plugin(), { baseURL: ISSUER, plugins: [provider] })).rejects.toThrow(message);
  });
});
