import { generateKeyPairSync, webcrypto } from "node:crypto";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { errors, type Provider, type ResourceServer } from "oidc-provider";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import {
  approveDevice,
  browser,
  type DeviceAuthorization,
  type Op,
  type OpOptions,
  REDIRECT_URI,
  startOp,
} from "./support/op.ts";

const RESOURCE = "urn:example:api";
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const SECRET = "only-for-this-test";
const CODE_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const PKCE = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };

const SAYS_ES256 = {
  id_token_signed_response_alg: "ES256",
  authorization_signed_response_alg: "ES256",
  introspection_signed_response_alg: "ES256",
} as const;

type Jwt = ResourceServer["jwt"];

const { publicKey, privateKey: PRIVATE } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const [HMAC_SHA256, HMAC_SHA512, ONLY_VERIFIES] = await Promise.all(
  (
    [
      ["SHA-256", "sign"],
      ["SHA-512", "sign"],
      ["SHA-256", "verify"],
    ] as const
  ).map(async ([hash, usage]) =>
    webcrypto.subtle.importKey("raw", Buffer.alloc(64, 1), { name: "HMAC", hash }, false, [usage]),
  ),
);
const RSA_OAEP = { alg: "RSA-OAEP-256", enc: "A256GCM", key: publicKey } as const;

let op: Op;
let opened: Op | undefined;
afterEach(() => {
  opened?.close();
});

async function open(options: OpOptions): Promise<void> {
  op = await startOp(options);
  opened = op;
}

interface Started {
  /** What `getResourceServerInfo` says of JWTs from now on. */
  says(jwt: Jwt, format?: "jwt" | "opaque"): void;
  /** What `getResourceServerInfo` gives from now on. */
  givesInfo(info: ResourceServer): void;
  /** What `getResourceServerInfo` was asked about. */
  readonly asked: string[];
}

async function start({ told = false, hostKeys = [] as object[], clientDefaults = true } = {}): Promise<Started> {
  let info: ResourceServer = { scope: "api", audience: RESOURCE, accessTokenFormat: "jwt" };
  const asked: string[] = [];
  const getResourceServerInfo = (_context: unknown, resource: string) => {
    asked.push(resource);
    return info;
  };
  const legacyVerificationKeys = hostKeys.map((key) => {
    const { kty, n, e, kid = "" } = key as Record<string, string>;
    return { keyId: kid, alg: "RS256" as const, publicKey: { kty, n, e } };
  });
  await open({
    keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }], { legacyVerificationKeys }),
    hostKeys,
    takes: { plug: true, clientDefaults },
    attach: told ? { getResourceServerInfo } : {},
    configuration: {
      rotateRefreshToken: true,
      clients: [
        {
          client_id: "rp",
          client_secret: SECRET,
          ...(clientDefaults || hostKeys.length > 0 ? {} : SAYS_ES256),
          redirect_uris: [REDIRECT_URI],
          grant_types: ["authorization_code", "refresh_token", DEVICE_GRANT, "client_credentials"],
          response_types: ["code"],
        },
      ],
      features: {
        resourceIndicators: { enabled: true, getResourceServerInfo, useGrantedResource: () => true },
      },
    },
  });
  return {
    says: (jwt, accessTokenFormat = "jwt") => {
      info = { scope: "api", audience: RESOURCE, accessTokenFormat, jwt };
    },
    givesInfo: (given) => {
      info = given;
    },
    asked,
  };
}

function post(path: string, form: Record<string, string>): Promise<Response> {
  return fetch(`${op.issuer}${path}`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`rp:${SECRET}`)}` },
    body: new URLSearchParams(form),
  });
}

async function authorize(): Promise<URLSearchParams> {
  const url = new URL(`${op.issuer}/auth`);
  const query = { client_id: "rp", redirect_uri: REDIRECT_URI, response_type: "code", state: "s", resource: RESOURCE };
  for (const [name, value] of Object.entries({ ...query, ...PKCE, scope: "openid api" })) {
    url.searchParams.set(name, value);
  }
  const ended = await browser(op.issuer)(url);
  if (!(ended instanceof URL)) throw new Error(`the OP answered ${ended.status}`);
  return ended.searchParams;
}

function exchange(code: string | null, more: Record<string, string> = {}): Promise<Response> {
  return post("/token", {
    ...more,
    grant_type: "authorization_code",
    code: code ?? "",
    redirect_uri: REDIRECT_URI,
    code_verifier: CODE_VERIFIER,
  });
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
}

async function tokensOf(response: Response): Promise<Tokens> {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Tokens;
}

async function refusal(response: Response): Promise<unknown> {
  return [response.status, ((await response.json()) as { error: string }).error];
}

const refusedFor = (...words: string[]): unknown =>
  expect.objectContaining({
    name: "ConfigurationError",
    argument: "getResourceServerInfo",
    message: expect.stringMatching(new RegExp([...words, RESOURCE].join(".*"))),
  });

describe("a resource server whose tokens cannot be signed", () => {
  const cases: [string, Jwt, unknown][] = [
    ["RS256", { sign: { alg: "RS256" } }, refusedFor("ES256", "RS256")],
    ["PS256 with encryption", { sign: { alg: "PS256" }, encrypt: {} as never }, refusedFor("PS256")],
    [
      "encryption without an algorithm",
      { sign: {}, encrypt: { ...RSA_OAEP, alg: "" } as never },
      refusedFor("encrypt\\.alg"),
    ],
    [
      "encryption without enc",
      { sign: {}, encrypt: { ...RSA_OAEP, enc: undefined } as never },
      refusedFor("encrypt\\.enc"),
    ],
    ["encryption without a key", { encrypt: { ...RSA_OAEP, key: null } as never }, refusedFor("encrypt\\.key")],
    [
      "encryption to a private key",
      { sign: {}, encrypt: { ...RSA_OAEP, key: PRIVATE } as never },
      refusedFor("private"),
    ],
    [
      "encryption to a key of another type",
      { sign: {}, encrypt: { ...RSA_OAEP, alg: "ECDH-ES" } },
      refusedFor("jwt\\.encrypt\\.alg", "rsa"),
    ],
    [
      "encryption with a public key in place of a secret one",
      { sign: {}, encrypt: { ...RSA_OAEP, alg: "A256KW" } },
      refusedFor("jwt\\.encrypt\\.alg", "rsa"),
    ],
    ["encryption under a number", { sign: {}, encrypt: { ...RSA_OAEP, kid: 1 } as never }, refusedFor("encrypt\\.kid")],
    ["HMAC under a number", { sign: { alg: "HS256", key: SECRET, kid: 1 } as never }, refusedFor("jwt\\.sign\\.kid")],
    ["the kid of another key", { sign: { alg: "ES256", kid: "b" } }, refusedFor("kid", '"b"')],
    ["the kid of another key alone", { sign: { kid: "b" } }, refusedFor("kid", '"b"')],
    ["encryption to a public key without a signature", { encrypt: RSA_OAEP }, refusedFor("jwt\\.sign")],
    ["HMAC without a key", { sign: { alg: "HS256" } as never }, refusedFor("jwt\\.sign\\.key")],
    ["HMAC with an empty key", { sign: { alg: "HS256", key: "" } as never }, refusedFor("jwt\\.sign\\.key")],
    [
      "HMAC with a public key",
      { sign: { alg: "HS256", key: publicKey } as never },
      refusedFor("secret", "jwt\\.sign\\.key"),
    ],
    [
      "HMAC with a JWK",
      { sign: { alg: "HS256", key: { kty: "oct", k: "AQ" } } as never },
      refusedFor("jwt\\.sign\\.key"),
    ],
    ["HMAC with no bytes", { sign: { alg: "HS256", key: Buffer.alloc(0) } as never }, refusedFor("jwt\\.sign\\.key")],
    [
      "HMAC with a key for another hash",
      { sign: { alg: "HS256", key: HMAC_SHA512 } as never },
      refusedFor("jwt\\.sign\\.key", "HS256"),
    ],
    [
      "HMAC with a key that only verifies",
      { sign: { alg: "HS256", key: ONLY_VERIFIES } as never },
      refusedFor("jwt\\.sign\\.key"),
    ],
    ["HMAC of a size that does not exist", { sign: { alg: "HS999", key: SECRET } as never }, refusedFor("HS999")],
    ["null for an algorithm", { sign: { alg: null } as never }, refusedFor("ES256", "null")],
    ["a number for an algorithm", { sign: { alg: 256 } as never }, refusedFor("ES256", "256")],
  ];

  test.each(cases)("is refused at the authorization request: %s", async (_name, jwt, cause) => {
    const { says } = await start();
    says(jwt);
    const answer = await authorize();
    expect([answer.get("error"), answer.get("code")]).toEqual(["server_error", null]);
    expect(op.failures.at(-1)?.error.cause).toEqual(cause);
  });

  test("is refused at the device authorization request and with client credentials", async () => {
    const { says } = await start();
    says({ sign: { alg: "RS256" } });
    const asked = { scope: "openid api", resource: RESOURCE };
    expect(await refusal(await post("/device/auth", asked))).toEqual([500, "server_error"]);
    expect(await refusal(await post("/token", { grant_type: "client_credentials", resource: RESOURCE }))).toEqual([
      500,
      "server_error",
    ]);
  });

  test("does not matter while access tokens for it are opaque", async () => {
    const { says } = await start();
    says({ sign: { alg: "RS256" } }, "opaque");
    const { access_token } = await tokensOf(await exchange((await authorize()).get("code")));
    expect(access_token).not.toContain(".");
  });
});

describe("a resource server whose tokens can be signed", () => {
  test.each([
    ["nothing of JWTs", undefined],
    ["nothing of signing", {}],
    ["no algorithm", { sign: {} }],
    ["ES256", { sign: { alg: "ES256" } }],
    ["ES256 and the active kid", { sign: { alg: "ES256", kid: "a" } }],
  ] as [string, Jwt][])("says %s", async (_name, jwt) => {
    const { says } = await start({ told: true });
    says(jwt);
    const { access_token } = await tokensOf(await exchange((await authorize()).get("code")));
    expect(decodeProtectedHeader(access_token)).toMatchObject({ alg: "ES256", kid: "a" });
  });

  test("is an instance of a class, whose members are not own members", async () => {
    class Api {
      get scope(): string {
        return "api";
      }
      get audience(): string {
        return RESOURCE;
      }
      get accessTokenTTL(): number {
        return 77;
      }
      get accessTokenFormat(): "jwt" {
        return "jwt";
      }
    }
    const { givesInfo } = await start();
    givesInfo(new Api());
    const form = { grant_type: "client_credentials", resource: "urn:example:named", scope: "api" };
    const { access_token } = await tokensOf(await post("/token", form));
    const { iat = 0, exp = 0, ...claims } = decodeJwt(access_token);
    expect(claims).toMatchObject({ aud: RESOURCE, scope: "api" });
    expect(exp - iat).toBe(77);
  });

  test.each([
    ["bytes", Buffer.alloc(32, 1)],
    ["a CryptoKey", HMAC_SHA256],
  ])("says HMAC, with its key: %s", async (_name, key) => {
    const { says } = await start();
    says({ sign: { alg: "HS256", key: key as never } });
    const { access_token } = await tokensOf(await exchange((await authorize()).get("code")));
    expect(decodeProtectedHeader(access_token).alg).toBe("HS256");
  });

  test("names no algorithm, and the host's default is another one that it has no key for", async () => {
    const { says } = await start({ clientDefaults: false });
    says({});
    const { access_token } = await tokensOf(
      await post("/token", { grant_type: "client_credentials", resource: RESOURCE }),
    );
    expect(decodeProtectedHeader(access_token).alg).toBe("ES256");
  });

  test("names no algorithm, and has the host's default while the host has a key for it", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const hostKeys = [{ ...privateKey.export({ format: "jwk" }), kid: "rs", alg: "RS256" }];
    for (const [clientDefaults, alg] of [
      [false, "RS256"],
      [true, "ES256"],
    ] as const) {
      const { says } = await start({ hostKeys, clientDefaults });
      says({});
      const { access_token } = await tokensOf(await exchange((await authorize()).get("code")));
      expect(decodeProtectedHeader(access_token).alg).toBe(alg);
      op.close();
    }
  });

  test("names a key and no algorithm, and has the host's default, which is HMAC", async () => {
    const getResourceServerInfo = (): ResourceServer => ({
      scope: "api",
      audience: RESOURCE,
      accessTokenFormat: "jwt",
      jwt: { sign: { key: Buffer.alloc(32, 1) } as never },
    });
    await open({
      keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
      configuration: {
        clientDefaults: { id_token_signed_response_alg: "HS256" },
        enabledJWA: { idTokenSigningAlgValues: ["HS256", "ES256"] },
        clients: [
          {
            client_id: "rp",
            client_secret: SECRET,
            redirect_uris: [],
            response_types: [],
            grant_types: ["client_credentials"],
          },
        ],
        features: { resourceIndicators: { enabled: true, getResourceServerInfo } },
      },
    });
    const form = { grant_type: "client_credentials", resource: RESOURCE };
    const { access_token } = await tokensOf(await post("/token", form));
    expect(decodeProtectedHeader(access_token).alg).toBe("HS256");
  });

  test("says RS256 while the host has a key for it that is published", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const { says } = await start({ hostKeys: [{ ...privateKey.export({ format: "jwk" }), kid: "rs", alg: "RS256" }] });
    says({ sign: { alg: "RS256" } });
    const { access_token } = await tokensOf(await exchange((await authorize()).get("code")));
    expect(decodeProtectedHeader(access_token)).toMatchObject({ alg: "RS256", kid: "rs" });
    says({ sign: { alg: "PS256" } });
    expect((await authorize()).get("error")).toBe("server_error");
  });
});

describe("a grant from before the resource server changed", () => {
  const RS256: Jwt = { sign: { alg: "RS256" } };

  test("a code is refused, and is not spent", async () => {
    const { says } = await start({ told: true });
    const code = (await authorize()).get("code");
    says(RS256);
    expect(await refusal(await exchange(code))).toEqual([500, "server_error"]);
    expect(op.failures.at(-1)?.error.cause).toEqual(refusedFor("RS256"));
    says({});
    expect(await tokensOf(await exchange(code))).toHaveProperty("access_token");
    expect(await refusal(await exchange(code))).toEqual([400, "invalid_grant"]);
  });

  test("a refresh token that rotates is refused, and is not spent", async () => {
    const { says } = await start({ told: true });
    const { refresh_token = "" } = await tokensOf(await exchange((await authorize()).get("code")));
    const refresh = () => post("/token", { grant_type: "refresh_token", refresh_token });
    says(RS256);
    expect(await refusal(await refresh())).toEqual([500, "server_error"]);
    says({});
    const next = await tokensOf(await refresh());
    expect(next.refresh_token).not.toBe(refresh_token);
    expect(await refusal(await refresh())).toEqual([400, "invalid_grant"]);
  });

  test("a device code is refused, and is not spent", async () => {
    const { says } = await start({ told: true });
    const asked = await post("/device/auth", { scope: "openid api", resource: RESOURCE });
    const device = (await asked.json()) as DeviceAuthorization & { device_code: string };
    await approveDevice(op, device);
    const poll = () => post("/token", { grant_type: DEVICE_GRANT, device_code: device.device_code });
    says(RS256);
    expect(await refusal(await poll())).toEqual([500, "server_error"]);
    says({});
    expect(await tokensOf(await poll())).toHaveProperty("access_token");
  });

  test("the OP is not asked about a resource that was not granted, which the host refuses", async () => {
    const { asked } = await start({ told: true });
    for (const resource of ["no URL at all", "https://other.example/"]) {
      const code = (await authorize()).get("code");
      asked.length = 0;
      expect(await refusal(await exchange(code, { resource }))).toEqual([400, "invalid_target"]);
      expect(asked).toEqual([]);
    }
  });

  test("a resource server that no longer exists keeps the refresh token, which the host uses for userinfo", async () => {
    let isGone = false;
    const info: ResourceServer = { scope: "api", audience: RESOURCE, accessTokenFormat: "jwt" };
    const getResourceServerInfo = (): ResourceServer => {
      if (isGone) throw new errors.InvalidTarget();
      return info;
    };
    await open({
      keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
      attach: { getResourceServerInfo },
      configuration: {
        rotateRefreshToken: true,
        clients: [
          {
            client_id: "rp",
            client_secret: SECRET,
            redirect_uris: [REDIRECT_URI],
            grant_types: ["authorization_code", "refresh_token"],
          },
        ],
        // The host's default: without `resource` in the request, a token for userinfo.
        features: { resourceIndicators: { enabled: true, getResourceServerInfo, useGrantedResource: () => false } },
      },
    });
    const { refresh_token = "" } = await tokensOf(await exchange((await authorize()).get("code")));
    isGone = true;
    const refresh = (form: Record<string, string>) => post("/token", { grant_type: "refresh_token", ...form });
    // Asked for by name, it is refused before the token is spent.
    expect(await refusal(await refresh({ refresh_token, resource: RESOURCE }))).toEqual([400, "invalid_target"]);
    expect(await tokensOf(await refresh({ refresh_token }))).toHaveProperty("id_token");
  });

  test("a code for the userinfo endpoint has no resource server to ask for", async () => {
    const getResourceServerInfo = vi.fn<() => ResourceServer>(() => ({ scope: "" }));
    await open({
      keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
      attach: { getResourceServerInfo },
      configuration: {
        clients: [{ client_id: "rp", client_secret: SECRET, redirect_uris: [REDIRECT_URI] }],
      },
    });
    const url = new URL(`${op.issuer}/auth`);
    const query = { client_id: "rp", redirect_uri: REDIRECT_URI, response_type: "code", scope: "openid", ...PKCE };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const ended = await browser(op.issuer)(url);
    const code = ended instanceof URL ? ended.searchParams.get("code") : null;
    expect(await tokensOf(await exchange(code))).toHaveProperty("id_token");
    expect(getResourceServerInfo).not.toHaveBeenCalled();
  });
});

test("the host's own key that the endpoint does not publish is reported, and signs for no resource server", async () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const told: Error[] = [];
  await open({
    keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
    hostKeys: [{ ...privateKey.export({ format: "jwk" }), kid: "rs", alg: "RS256" }],
    onError: (error) => told.push(error),
  });
  await vi.waitFor(() => {
    expect(told).toEqual([
      expect.objectContaining({ argument: "legacyVerificationKeys", message: expect.stringContaining('"rs"') }),
    ]);
  });
  await fetch(`${op.issuer}/jwks`);
  const provider: Provider = op.provider;
  const info: ResourceServer = { scope: "", accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } };
  expect(() => new provider.ResourceServer(RESOURCE, info)).toThrow(expect.objectContaining({ error: "server_error" }));
});
