import { decodeJwt, type JWTPayload } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type ActiveKey, createKeySet, type KeySet, type Signer, signWith } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type Provider, startProvider } from "./support/provider.ts";

const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

describe("the id_token_hint of a logout", () => {
  let signers: readonly [Signer, Signer];
  let first: KeySet;
  let replaced: KeySet;
  let current: KeySet;
  let provider: Provider;
  let users = 0;

  beforeAll(async () => {
    signers = [await openLocalSigner(), await openLocalSigner()];
    first = createKeySet([{ keyId: "first", signer: signers[0] }]);
    replaced = createKeySet([{ keyId: "second", signer: signers[1] }]);
    current = first;
    provider = await startProvider({ keys: () => current });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await provider.close();
    for (const signer of signers) await signer.close();
  });

  /** The ID token of a new user. */
  async function idToken(): Promise<string> {
    const cookie = await provider.app.signUp(`user-${(users += 1)}@rp.example`);
    return (await provider.login(cookie)).id_token ?? "";
  }

  async function signed(header: object, claims: object, key: ActiveKey = current.active): Promise<string> {
    const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${input}.${Buffer.from(await signWith(key, Buffer.from(input))).toString("base64url")}`;
  }

  async function logout(hint: string, method: "GET" | "POST" = "GET"): Promise<number> {
    const parameters = new URLSearchParams({ id_token_hint: hint });
    const path = "/api/auth/oauth2/end-session";
    const response =
      method === "GET"
        ? await provider.app.request(`${path}?${parameters}`)
        : await provider.app.request(path, { method, body: parameters });
    return response.status;
  }

  const sessionOf = (token: string) => provider.tables["session"]?.find(({ id }) => id === decodeJwt(token)["sid"]);

  test.each(["GET", "POST"] as const)("an ID token ends its session: %s", async (method) => {
    const token = await idToken();
    expect(sessionOf(token)).toBeDefined();
    expect(await logout(token, method)).toBe(200);
    expect(sessionOf(token)).toBeUndefined();
  });

  test.each<[string, (claims: JWTPayload) => Promise<string>]>([
    ["without a kid", (claims) => signed({ alg: "ES256" }, claims)],
    ["with an empty kid", (claims) => signed({ alg: "ES256", kid: "" }, claims)],
    ["with a kid that is no string", (claims) => signed({ alg: "ES256", kid: ["first"] }, claims)],
    ["with the typ of another token", (claims) => signed({ alg: "ES256", kid: "first", typ: "at+jwt" }, claims)],
    [
      "that is a logout token without typ",
      (claims) => signed({ alg: "ES256", kid: "first" }, { ...claims, events: { [LOGOUT_EVENT]: {} } }),
    ],
    ["without exp", (claims) => signed({ alg: "ES256", kid: "first" }, { ...claims, exp: undefined })],
    ["without iat", (claims) => signed({ alg: "ES256", kid: "first" }, { ...claims, iat: undefined })],
  ])("a hint %s is refused", async (_, hintOf) => {
    const token = await idToken();
    const hint = await hintOf(decodeJwt(token));
    expect([await logout(hint), await logout(hint, "POST")]).toEqual([401, 401]);
    const headers = new Headers();
    const call = provider.api.oauth2EndSession({ body: { id_token_hint: hint }, headers });
    await expect(call).rejects.toMatchObject({ statusCode: 401 });
    expect(sessionOf(token)).toBeDefined();
  });

  test("after an emergency, a hint of the revoked key is refused at once, also one that is made now", async () => {
    const [old, other] = [await idToken(), await idToken()];
    // The host keeps the key set that it has fetched.
    expect(await logout(other)).toBe(200);
    current = replaced;
    try {
      const forged = await signed({ alg: "ES256", kid: "first" }, decodeJwt(old), first.active);
      expect([await logout(old), await logout(forged)]).toEqual([401, 401]);
      expect(sessionOf(old)).toBeDefined();
      expect(await logout(await idToken())).toBe(200);
    } finally {
      current = first;
    }
  });

  test("hints with made-up kids cost no request for the key set", async () => {
    const claims = decodeJwt(await idToken());
    const { respond } = provider.app.endpoint;
    expect(respond("GET").status).toBe(200);
    const fetched = vi.spyOn(globalThis, "fetch");
    for (const kid of ["a", "b", "c"]) {
      expect(await logout(await signed({ alg: "ES256", kid }, claims))).toBe(401);
    }
    // The requests of this test, and none of the host.
    expect(fetched).toHaveBeenCalledTimes(3);
    fetched.mockRestore();
  });
});

describe("with disableJwtPlugin", () => {
  test("hints have no kid, since the secret of the client signs them", async () => {
    const signer = await openLocalSigner();
    const keys = createKeySet([{ signer }]);
    const provider = await startProvider({ keys: () => keys, disableJwtPlugin: true });
    try {
      const { id_token: hint = "" } = await provider.login(provider.cookie);
      const path = `/api/auth/oauth2/end-session?${new URLSearchParams({ id_token_hint: hint })}`;
      expect((await provider.app.request(path)).status).toBe(200);
    } finally {
      await provider.close();
      await signer.close();
    }
  });
});
