import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type FakeGcpKms, type FakeKeyVersion, startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { type RunningOp, startOp } from "../src/op.ts";
import { readSettings } from "../src/settings.ts";

let fake: FakeGcpKms;
let versions: readonly FakeKeyVersion[];
let op: RunningOp;
let base: string;

const settingsOf = (names: readonly string[], more: NodeJS.ProcessEnv = {}): ReturnType<typeof readSettings> =>
  readSettings({
    ISSUER: "https://op.example",
    KEY_VERSIONS: names.join(", "),
    KMS_ENDPOINT: `http://127.0.0.1:${fake.grpcPort}`,
    PORT: "0",
    ...more,
  });

beforeAll(async () => {
  fake = await startFakeGcpKms();
  versions = [fake.addVersion({ pendingMs: 200 }), fake.addVersion()];
  op = await startOp(settingsOf(versions.map(({ name }) => name)));
  base = `http://127.0.0.1:${op.port}`;
});
afterEach(() => fake.faults.clear());
afterAll(async () => {
  await op.close();
  await fake.stop();
});

async function newIdToken(): Promise<string> {
  const response = await fetch(`${base}/token`);
  const { id_token: idToken } = (await response.json()) as { id_token: string };
  return idToken;
}

describe("the OP of the Cloud Run example", () => {
  test("issues tokens that an RP verifies with the published keys", async () => {
    const jwks = createRemoteJWKSet(new URL(`${base}/jwks`));
    const { payload } = await jwtVerify(await newIdToken(), jwks, { issuer: "https://op.example", audience: "rp" });
    expect(payload.sub).toBe("248289761001");
  });

  test("publishes both versions, and signs with the first", async () => {
    const { keys } = (await (await fetch(`${base}/jwks`)).json()) as { keys: { kid: string; x: string }[] };
    expect(keys.map(({ x }) => x)).toEqual(versions.map(({ publicKey }) => publicKey.export({ format: "jwk" }).x));
    expect(decodeProtectedHeader(await newIdToken()).kid).toBe(keys[0]?.kid);
  });

  test("names its key set in the discovery document", async () => {
    const response = await fetch(`${base}/.well-known/openid-configuration`);
    expect(await response.json()).toEqual({
      issuer: "https://op.example",
      jwks_uri: "https://op.example/jwks",
      id_token_signing_alg_values_supported: ["ES256"],
    });
  });

  test("serves the key set of an issuer with a path where the discovery document says", async () => {
    const ISSUER = "https://op.example/tenant";
    const tenant = await startOp(settingsOf([versions[1]?.name ?? ""], { ISSUER }));
    const ask = (path: string) => fetch(`http://127.0.0.1:${tenant.port}${path}`);
    const discovery = await ask("/tenant/.well-known/openid-configuration");
    expect(await discovery.json()).toMatchObject({ jwks_uri: `${ISSUER}/jwks` });
    expect((await ask("/tenant/jwks")).status).toBe(200);
    expect((await ask("/jwks")).status).toBe(404);
    await tenant.close();
  });

  test("is ready, except while its key cannot sign", async () => {
    expect((await fetch(`${base}/ready`)).status).toBe(200);
    fake.faults.on("key-disabled");
    expect((await fetch(`${base}/token`)).status).toBe(500);
    const down = await fetch(`${base}/ready`);
    expect(down.status).toBe(503);
    expect(await down.json()).toMatchObject({ status: "down", lastCode: "key_disabled" });
    fake.faults.off("key-disabled");
    // Without any other request.
    expect((await fetch(`${base}/ready`)).status).toBe(200);
    expect((await fetch(`${base}/token`)).status).toBe(200);
  });

  test("stays in while KMS is unreachable, and asks clients to try again", async () => {
    fake.faults.on("unavailable");
    expect((await fetch(`${base}/token`)).status).toBe(503);
    expect((await fetch(`${base}/ready`)).status).toBe(200);
  });

  test("has short cache times after a rotation began, and long ones otherwise", async () => {
    expect((await fetch(`${base}/jwks`)).headers.get("cache-control")).toContain("max-age=3600");
    const ROTATION_STARTED_AT = new Date(Date.now() - 60_000).toISOString();
    const rotating = await startOp(settingsOf([versions[1]?.name ?? ""], { ROTATION_STARTED_AT }));
    const response = await fetch(`http://127.0.0.1:${rotating.port}/jwks`);
    expect(response.headers.get("cache-control")).toBe("public, max-age=300, must-revalidate");
    await rotating.close();
  });

  test("accepts a target in absolute form (RFC 9112 section 3.2.2)", async () => {
    const request = get({ port: op.port, path: "http://op.example/jwks?a=b" });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    expect([response.statusCode, response.headers["content-type"]]).toEqual([200, "application/jwk-set+json"]);
  });

  test.each(["/", "//", "/jwks/", "/toString", "/\\", "*", "http://op.example"])("has nothing at %s", async (path) => {
    const request = get({ port: op.port, path });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(404);
  });

  test("treats an empty variable as not set", () => {
    const env = { ISSUER: "https://op.example", KEY_VERSIONS: "x" };
    const empty = { ROTATION_STARTED_AT: "", KMS_ENDPOINT: "", PORT: "" };
    expect(readSettings({ ...env, ...empty })).toEqual(readSettings(env));
  });

  test("does not start without its settings", () => {
    expect(() => readSettings({ ISSUER: "https://op.example" })).toThrow("KEY_VERSIONS is not set");
    expect(() => settingsOf(["x"], { PORT: "http" })).toThrow("PORT is not a port number: http");
  });
});
