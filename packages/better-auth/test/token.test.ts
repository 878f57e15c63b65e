import { createPublicKey, X509Certificate } from "node:crypto";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createKeySet, type KeySet, type Signer, SignerError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createRemoteKeySet } from "@signpost/verify";
import { type App, HOSTS, startApp } from "./support/host.ts";

describe.each(HOSTS)("better-auth $version", (host) => {
  let app: App;
  let cookie: string;
  let signers: readonly [Signer, Signer];
  let first: KeySet;
  let rotated: KeySet;
  let current: KeySet;
  let failure: SignerError | undefined;

  beforeAll(async () => {
    signers = [await openLocalSigner(), await openLocalSigner()];
    const [old, next] = signers.map((signer) => failing(signer));
    if (old === undefined || next === undefined) throw new Error("two signers are needed");
    first = createKeySet([{ keyId: "old", signer: old }]);
    rotated = createKeySet([
      { keyId: "new", signer: next },
      { keyId: "old", publicKey: old.publicKey },
    ]);
    current = first;
    app = await startApp(host, { keys: () => current });
    cookie = await app.signUp();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    failure = undefined;
    app.problems.length = 0;
  });
  afterAll(async () => {
    await app.close();
    for (const signer of signers) await signer.close();
  });

  function failing(signer: Signer): Signer {
    return {
      uri: signer.uri,
      publicKey: signer.publicKey,
      sign: (digest, options) => (failure === undefined ? signer.sign(digest, options) : Promise.reject(failure)),
      close: () => signer.close(),
    };
  }

  async function token(): Promise<string> {
    const response = await app.request("/api/auth/token", { headers: { cookie } });
    expect(response.status).toBe(200);
    return ((await response.json()) as { token: string }).token;
  }

  test("a token of a session is signed by the active key, and an RP verifies it", async () => {
    const jwt = await token();
    const keys = createRemoteJWKSet(new URL(`${app.url}/api/auth/jwks`));
    const { payload } = await jwtVerify(jwt, keys, { issuer: app.url, audience: app.url, algorithms: ["ES256"] });
    expect(decodeProtectedHeader(jwt)).toEqual({ alg: "ES256", kid: current.active.keyId });
    expect(payload).toMatchObject({ email: "ada@rp.example", name: "Ada", sub: payload["id"] });
  });

  test("Dates of the user become text, and members that are undefined are left out", async () => {
    const jwt = await token();
    const claims: Record<string, unknown> = JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString());
    expect(new Date(String(claims["createdAt"])).toISOString()).toBe(claims["createdAt"]);
    expect(Object.keys(claims)).not.toContain("nbf");
  });

  test("a payload that is not plain claims is refused, but a BigInt may say its form in JSON", async () => {
    const sign = (payload: object) => app.auth.api.signJWT({ body: { payload } });
    await expect(sign({ sub: "a", toJSON: () => ({ sub: "b" }) })).rejects.toMatchObject({ statusCode: 500 });
    await expect(sign({ sub: "a", count: 1n })).rejects.toMatchObject({ statusCode: 500 });
    await expect(sign({ sub: "a", count: NaN })).rejects.toMatchObject({ statusCode: 500 });
    expect(app.problems).toMatchObject([
      { message: "payload: expected plain claims, got an object with a method toJSON" },
      { message: 'payload: "count" has no form in JSON: it is a bigint' },
      { message: 'payload: "count" has no form in JSON: it is NaN' },
    ]);
    // What many apps do once at their start.
    const bigints: object = Object.getPrototypeOf(1n);
    Object.assign(bigints, { toJSON: () => "1" });
    try {
      expect(decodeJwt((await sign({ sub: "a", count: 1n })).token)["count"]).toBe("1");
    } finally {
      Reflect.deleteProperty(bigints, "toJSON");
    }
  });

  test("the endpoint is served with its own headers, for GET, HEAD, a condition and other methods", async () => {
    const response = await app.request("/api/auth/jwks");
    const { body, headers } = app.endpoint.respond("GET");
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(body ?? []));
    for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toBe(value);
    const etag = response.headers.get("etag") ?? "";
    expect((await app.request("/api/auth/jwks", { headers: { "if-none-match": etag } })).status).toBe(304);
    const head = await app.request("/api/auth/jwks", { method: "HEAD" });
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, etag, ""]);
    const post = await app.request("/api/auth/jwks", { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("the host verifies with the published keys, and makes no request", async () => {
    const jwt = await token();
    const { token: logout } = await app.auth.api.signJWT({ body: { payload: { sub: "a", aud: "b" } } });
    const fetched = vi.spyOn(globalThis, "fetch");
    const { payload } = await app.auth.api.verifyJWT({ body: { token: jwt } });
    expect(payload).toMatchObject({ email: "ada@rp.example" });
    expect((await app.auth.api.verifyJWT({ body: { token: logout } })).payload).toBeNull();
    expect(fetched).not.toHaveBeenCalled();
  });

  test("the keys of the host's API are those of the endpoint", async () => {
    const { keys } = await app.auth.api.getJwks();
    expect({ keys }).toEqual(
      JSON.parse(new TextDecoder().decode(app.endpoint.respond("GET").body ?? new Uint8Array())),
    );
  });

  test("certificates are published by the endpoint and by the host's API alike, and the host verifies as before", async () => {
    const { publicKey } = first.active;
    const chain = certificateOf(createPublicKey({ key: { ...publicKey }, format: "jwk" }), ["op.example"]);
    current = createKeySet([{ keyId: "old", signer: first.active.signer, certificates: { chain } }]);
    try {
      const x5c = [new X509Certificate(chain).raw.toString("base64")];
      const published = await (await app.request("/api/auth/jwks")).json();
      expect(published).toMatchObject({ keys: [{ kid: "old", x5c }] });
      const api = await app.auth.api.getJwks();
      expect({ keys: api.keys }).toEqual(published);
      // What a caller does with the list is its own business.
      api.keys.forEach((key) => (key["x5c"] as string[]).pop());
      expect(await app.auth.api.getJwks()).toEqual(published);
      expect((await app.auth.api.verifyJWT({ body: { token: await token() } })).payload).toMatchObject({ name: "Ada" });
    } finally {
      current = first;
    }
  });

  test("reading a session signs nothing", async () => {
    failure = new SignerError("unavailable", "away");
    const response = await app.request("/api/auth/get-session", { headers: { cookie } });
    expect([response.status, response.headers.get("set-auth-jwt")]).toEqual([200, null]);
  });

  test("a transient failure is a 503 that says when to come back", async () => {
    failure = new SignerError("throttled", "too many calls of op-key-7");
    const response = await app.request("/api/auth/token", { headers: { cookie } });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ code: "SIGNING_UNAVAILABLE", error: "temporarily_unavailable" });
    expect(text).not.toContain("op-key-7");
    expect(app.problems).toMatchObject([{ code: failure.code }]);
  });

  test("any other failure is a 500, whose cause the operator sees", async () => {
    failure = new SignerError("access_denied", "no permission for op-key-7");
    const response = await app.request("/api/auth/token", { headers: { cookie } });
    expect([response.status, response.headers.get("retry-after")]).toEqual([500, null]);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ code: "SIGNING_FAILED", error: "server_error" });
    expect(text).not.toContain("op-key-7");
    expect(app.problems).toMatchObject([{ code: failure.code }]);
  });

  test("an app that writes the error of a call to its client writes no error of the backend", async () => {
    failure = new SignerError("access_denied", "no permission", { uri: "awskms:///op-key-7" });
    const error = await app.auth.api.signJWT({ body: { payload: { sub: "a" } } }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ cause: { uri: "awskms:///op-key-7" } });
    expect(JSON.stringify(error)).toContain("SIGNING_FAILED");
    expect(JSON.stringify(error)).not.toContain("op-key-7");
  });

  test("none of 1,000 tokens around a rotation is refused, and both keys have signed", async () => {
    current = first;
    const keys = createRemoteKeySet(`${app.url}/api/auth/jwks`, { allowInsecureLoopback: true });
    const kids = new Map<unknown, number>();
    for (let batch = 0; batch < 50; batch += 1) {
      if (batch === 25) current = rotated;
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const jwt = await token();
          const { protectedHeader } = await jwtVerify(jwt, keys, { issuer: app.url, audience: app.url });
          kids.set(protectedHeader.kid, (kids.get(protectedHeader.kid) ?? 0) + 1);
        }),
      );
    }
    expect(Object.fromEntries(kids)).toEqual({ old: 500, new: 500 });
  });

  test("a key that is withdrawn is refused at once", async () => {
    current = first;
    const jwt = await token();
    const [, next] = signers;
    current = createKeySet([{ keyId: "new", signer: next }]);
    expect((await app.auth.api.verifyJWT({ body: { token: jwt } })).payload).toBeNull();
    current = rotated;
    expect((await app.auth.api.verifyJWT({ body: { token: jwt } })).payload).not.toBeNull();
  });

  test("options that override jwt without its sign never sign with a key of the host", async () => {
    const overrideOptions = { jwt: { expirationTime: "1h" } };
    await expect(app.auth.api.signJWT({ body: { payload: { sub: "a" }, overrideOptions } })).rejects.toThrow(
      /must repeat the plugin's own `jwt.sign`/,
    );
  });
});
