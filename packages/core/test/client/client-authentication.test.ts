import { decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type ClientAuthentication,
  clientAuthentication,
  createKeySet,
  type KeySet,
  type Signer,
  SignerError,
  signRequestObject,
} from "@signpost/core";
import { failure } from "../support/failure.ts";
import { scriptedSigner } from "../support/scripted-signer.ts";

const SERVER = { issuer: "https://op.example/tenant", token_endpoint: "https://op.example/token" };
const CLIENT = { client_id: "rp" };
const NOW = Date.parse("2026-06-01T12:00:00.900Z");
const scripted = scriptedSigner();
const keys = createKeySet([{ keyId: "rp-1", signer: scripted.signer }]);

async function parametersOf(
  authenticate: ClientAuthentication,
  body = new URLSearchParams(),
): Promise<URLSearchParams> {
  await authenticate(SERVER, CLIENT, body);
  return body;
}

async function assertionOf(authenticate: ClientAuthentication): Promise<string> {
  return (await parametersOf(authenticate)).get("client_assertion") ?? "";
}

test.each<[string, (keys: KeySet) => Promise<unknown>]>([
  ["an assertion", (dead) => clientAuthentication(dead)(SERVER, CLIENT, new URLSearchParams())],
  ["a request object", (dead) => signRequestObject(dead, {}, { clientId: "rp", issuer: SERVER.issuer })],
])(
  "%s ends after a minute if a signer without a guard never answers, which gets only so many calls",
  async (_what, sign) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const asked = vi.fn<Signer["sign"]>(() => new Promise(() => {}));
    const dead = createKeySet([{ signer: { ...scripted.signer, sign: asked } }]);
    const calls = Array.from({ length: 16 }, () => failure(sign(dead)));
    await vi.advanceTimersByTimeAsync(60_000);
    for (const call of calls) expect(await call).toMatchObject({ code: "timeout" });
    expect(await failure(sign(dead))).toMatchObject({ code: "unavailable" });
    expect(asked).toHaveBeenCalledTimes(16);
  },
);

describe("a client authenticates with an assertion", () => {
  test("whose signature verifies with the client's key", async () => {
    const assertion = await assertionOf(clientAuthentication(keys));
    const key = await importJWK({ ...scripted.signer.publicKey }, "ES256");
    const { payload } = await jwtVerify(assertion, key, { issuer: "rp", subject: "rp", audience: SERVER.issuer });
    expect(decodeProtectedHeader(assertion)).toEqual({ alg: "ES256", kid: "rp-1" });
    expect(payload.aud).toBe(SERVER.issuer);
  });

  test("that names the client, the issuer as one string, and a minute", async () => {
    const assertion = await assertionOf(clientAuthentication(keys, { now: () => NOW }));
    const iat = Math.floor(NOW / 1000);
    expect(decodeJwt(assertion)).toEqual({
      iss: "rp",
      sub: "rp",
      aud: SERVER.issuer,
      jti: expect.stringMatching(/^[\w-]{22}$/),
      iat,
      nbf: iat,
      exp: iat + 60,
    });
  });

  test.each(["always", "first"] as const)("whose signatures may be verified %s", async (verify) => {
    await expect(assertionOf(clientAuthentication(keys, { verify }))).resolves.not.toBe("");
  });

  test("with a jti that never repeats", async () => {
    const authenticate = clientAuthentication(keys);
    const assertions = await Promise.all(Array.from({ length: 100 }, () => assertionOf(authenticate)));
    expect(new Set(assertions.map((assertion) => decodeJwt(assertion).jti)).size).toBe(100);
  });

  test("in the three parameters of RFC 7523, and leaves the others alone", async () => {
    const body = await parametersOf(
      clientAuthentication(keys),
      new URLSearchParams({ grant_type: "client_credentials" }),
    );
    expect([...body.keys()]).toEqual(["grant_type", "client_id", "client_assertion_type", "client_assertion"]);
    expect(body.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
  });

  test("under the key that is active at this moment", async () => {
    const next = scriptedSigner();
    const rotated = createKeySet([
      { keyId: "rp-2", signer: next.signer },
      { keyId: "rp-1", publicKey: scripted.signer.publicKey },
    ]);
    let current = keys;
    const authenticate = clientAuthentication(() => current);
    expect(decodeProtectedHeader(await assertionOf(authenticate)).kid).toBe("rp-1");
    current = rotated;
    expect(decodeProtectedHeader(await assertionOf(authenticate)).kid).toBe("rp-2");
  });
});

test("a failure to sign leaves the body as it was", async () => {
  const failing = scriptedSigner(() => {
    throw new SignerError("throttled", "too many calls");
  });
  const authenticate = clientAuthentication([{ keyId: "rp-1", signer: failing.signer }]);
  const body = new URLSearchParams({ grant_type: "client_credentials" });
  await expect(authenticate(SERVER, CLIENT, body)).rejects.toMatchObject({ code: "throttled" });
  expect([...body.keys()]).toEqual(["grant_type"]);
});

describe("bad input is refused by name", () => {
  test.each([
    ["an unknown option", { lifetime: 60 }, "lifetime: unknown option"],
    ["no lifetime", { lifetimeSeconds: 0 }, "lifetimeSeconds: expected a whole number from 1 to 300"],
    ["a long lifetime", { lifetimeSeconds: 301 }, "lifetimeSeconds"],
    ["a clock that is none", { now: 1 }, "now"],
    ["another verify", { verify: "never" }, "verify"],
  ])("%s", (_, options, message) => {
    expect(() => clientAuthentication(keys, options as object)).toThrow(message);
  });

  test.each([
    ["a server without an issuer", [{}, CLIENT, new URLSearchParams()], "server.issuer: expected a non-empty string"],
    ["a client without an id", [SERVER, {}, new URLSearchParams()], "client.client_id: expected a non-empty string"],
    ["no parameters", [SERVER, CLIENT, {}], "body: expected URLSearchParams"],
  ])("%s", async (_, call, message) => {
    await expect(clientAuthentication(keys)(...(call as Parameters<ClientAuthentication>))).rejects.toThrow(message);
  });
});
