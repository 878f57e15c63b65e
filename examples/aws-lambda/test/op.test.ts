import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type FakeAwsKms, type FakeKmsKey, startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { openOp, type HttpEvent, type HttpResult, type Op } from "../src/op.ts";
import { readSettings, type Settings } from "../src/settings.ts";

let fake: FakeAwsKms;
let key: FakeKmsKey;
let retired: FakeKmsKey;
let op: Op;

const jwkOf = ({ publicKey }: FakeKmsKey) => publicKey?.export({ format: "jwk" });
const settings = (): Settings =>
  readSettings({
    ISSUER: "https://op.example",
    KEY_ARN: key.arn,
    PUBLIC_KEY: JSON.stringify(jwkOf(key)),
    OTHER_PUBLIC_KEYS: JSON.stringify([jwkOf(retired)]),
    KMS_ENDPOINT: fake.endpoint,
  });

beforeAll(async () => {
  fake = await startFakeAwsKms();
  key = fake.addKey();
  retired = fake.addKey();
  vi.stubEnv("AWS_ACCESS_KEY_ID", fake.credentials.accessKeyId);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", fake.credentials.secretAccessKey);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  op = await openOp(settings());
});
afterEach(() => fake.reset());
afterAll(async () => {
  await op.close();
  await fake.stop();
  vi.unstubAllEnvs();
});

function request(rawPath: string, headers: HttpEvent["headers"] = {}, method = "GET"): Promise<HttpResult> {
  return op.handle({ rawPath, headers, requestContext: { http: { method } } });
}

async function newIdToken(): Promise<string> {
  const { body = "" } = await request("/token");
  return (JSON.parse(body) as { id_token: string }).id_token;
}

async function publishedKeys(): Promise<JSONWebKeySet> {
  return JSON.parse((await request("/jwks")).body ?? "") as JSONWebKeySet;
}

describe("the OP of the Lambda example", () => {
  test("starts cold without a KMS call, even while KMS is unreachable", async () => {
    await fake.goAway();
    const cold = await openOp(settings());
    const { statusCode } = await cold.handle({
      rawPath: "/jwks",
      headers: {},
      requestContext: { http: { method: "GET" } },
    });
    expect(statusCode).toBe(200);
    expect(fake.requests).toEqual([]);
    await cold.close();
    await fake.comeBack();
  });

  test("issues tokens that an RP verifies with the published keys", async () => {
    const keys = createLocalJWKSet(await publishedKeys());
    const { payload } = await jwtVerify(await newIdToken(), keys, { issuer: "https://op.example", audience: "rp" });
    expect(payload.sub).toBe("248289761001");
    // One signature and no other call. On a busy machine it may take another attempt.
    expect(fake.requests.length).toBeGreaterThan(0);
    for (const made of fake.requests) expect(made).toMatchObject({ operation: "Sign", keyId: key.arn });
  });

  test("publishes the retiring key too, and signs with the first", async () => {
    const { keys } = await publishedKeys();
    expect(keys.map(({ x }) => x)).toEqual([jwkOf(key)?.x, jwkOf(retired)?.x]);
    expect(decodeProtectedHeader(await newIdToken()).kid).toBe(keys[0]?.kid);
  });

  test("answers 304 to a cache that has the document, and 405 to a POST", async () => {
    const { headers } = await request("/jwks");
    expect(headers["Content-Type"]).toBe("application/jwk-set+json");
    const again = await request("/jwks", { "if-none-match": headers["ETag"] });
    expect(again).toMatchObject({ statusCode: 304, headers: { ETag: headers["ETag"] } });
    expect(again.body).toBeUndefined();
    expect((await request("/jwks", {}, "POST")).statusCode).toBe(405);
  });

  test("names its key set in the discovery document", async () => {
    const { body = "" } = await request("/.well-known/openid-configuration");
    expect(JSON.parse(body)).toEqual({
      issuer: "https://op.example",
      jwks_uri: "https://op.example/jwks",
      id_token_signing_alg_values_supported: ["ES256"],
    });
  });

  test("serves the key set of an issuer with a path where the discovery document says", async () => {
    const tenant = await openOp({ ...settings(), issuer: "https://op.example/tenant" });
    const ask = (rawPath: string) =>
      tenant.handle({ rawPath, headers: {}, requestContext: { http: { method: "GET" } } });
    const { body = "" } = await ask("/tenant/.well-known/openid-configuration");
    expect(JSON.parse(body)).toMatchObject({ jwks_uri: "https://op.example/tenant/jwks" });
    expect((await ask("/tenant/jwks")).statusCode).toBe(200);
    expect((await ask("/jwks")).statusCode).toBe(404);
    await tenant.close();
  });

  test("signs again after it was frozen: connections are gone, credentials expired", async () => {
    await newIdToken();
    await fake.goAway();
    await fake.comeBack();
    fake.acceptOnly(["AKIANEWEXAMPLE000000"]);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIANEWEXAMPLE000000");
    expect((await request("/token")).statusCode).toBe(200);
    fake.acceptOnly(undefined);
  });

  test("asks clients to try again while KMS throttles, and stays healthy", async () => {
    fake.faults.on("throttle");
    expect((await request("/token")).statusCode).toBe(503);
    expect((await request("/health")).statusCode).toBe(200);
  });

  test("is unhealthy while its key is disabled", async () => {
    fake.faults.on("key-disabled");
    expect((await request("/token")).statusCode).toBe(500);
    const { statusCode, body = "" } = await request("/health");
    expect(statusCode).toBe(503);
    expect(JSON.parse(body)).toMatchObject({ status: "down", lastCode: "key_disabled" });
    fake.faults.off("key-disabled");
    expect((await request("/token")).statusCode).toBe(200);
  });

  test("is a Lambda handler", async () => {
    const env = settings();
    vi.stubEnv("ISSUER", env.issuer);
    vi.stubEnv("KEY_ARN", env.keyArn);
    vi.stubEnv("PUBLIC_KEY", JSON.stringify(env.publicKey));
    vi.stubEnv("KMS_ENDPOINT", fake.endpoint);
    const { handler } = await import("../src/main.ts");
    const event = { rawPath: "/token", headers: {}, requestContext: { http: { method: "POST" } } };
    expect(await handler(event)).toMatchObject({ statusCode: 200 });
  });

  test.each<[NodeJS.ProcessEnv, string]>([
    [{ ISSUER: "https://op.example" }, "KEY_ARN is not set"],
    [{ ISSUER: "https://op.example", KEY_ARN: "arn:x", PUBLIC_KEY: "" }, "PUBLIC_KEY is not set"],
    [{ ISSUER: "https://op.example", KEY_ARN: "arn:x", PUBLIC_KEY: "-----BEGIN" }, "PUBLIC_KEY is not JSON"],
  ])("does not start with the settings %o: %s", (env, message) => {
    expect(() => readSettings(env)).toThrow(message);
  });

  test("treats an empty variable as not set", () => {
    const env = { ISSUER: "https://op.example", KEY_ARN: "arn:x", PUBLIC_KEY: "{}" };
    const empty = { OTHER_PUBLIC_KEYS: "", ROTATION_STARTED_AT: "", KMS_ENDPOINT: "" };
    expect(readSettings({ ...env, ...empty })).toEqual(readSettings(env));
  });
});
