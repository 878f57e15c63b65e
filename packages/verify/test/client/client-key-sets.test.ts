import { createClientKeySets, createPublicDispatcher } from "@signpost/verify";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { jwtVerify, SignJWT } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";
import { LONG_CACHE, origin } from "../support/remote.ts";

const a = testKey("k");
const b = testKey("k");

describe("the key sets of clients", () => {
  it("belong to their client: one client's key never verifies for another, even under the same kid", async () => {
    const keySets = createClientKeySets();
    const [setA, setB] = [
      keySets.keysOf("a", { jwks: { keys: [a.jwk] } }),
      keySets.keysOf("b", { jwks: { keys: [b.jwk] } }),
    ];
    await expect(jwtVerify(await a.token(), setA)).resolves.toBeDefined();
    await expect(jwtVerify(await a.token(), setB)).rejects.toMatchObject({
      code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    });
  });

  it("are fetched once for each client, and again if another URI is registered", async () => {
    const server = await startCountingJwksServer(origin([a], LONG_CACHE));
    onTestFinished(() => server.stop());
    const keySets = createClientKeySets({
      allowInsecureLoopback: true,
      dispatcher: createPublicDispatcher({ allowSubnets: ["127.0.0.0/8"] }),
    });
    const keys = { jwksUri: server.jwksUri };
    for (const client of ["one", "two", "one"]) {
      await expect(jwtVerify(await a.token(), keySets.keysOf(client, { ...keys }))).resolves.toBeDefined();
    }
    expect(server.requests).toHaveLength(2);
    const moved = keySets.keysOf("one", { jwksUri: `${server.origin}/moved` });
    await expect(jwtVerify(await a.token(), moved)).resolves.toBeDefined();
    expect(server.requests.at(-1)?.path).toBe("/moved");
  });

  it("are read once for a jwks with the same content, as an OP reads it from its database", async () => {
    const keySets = createClientKeySets();
    const stored = JSON.stringify({ keys: [testKey("one").jwk, testKey("two").jwk] });
    const first = keySets.keysOf("c", { jwks: JSON.parse(stored) });
    expect(keySets.keysOf("c", { jwks: JSON.parse(stored) })).toBe(first);
    const next = keySets.keysOf("c", { jwks: { keys: [testKey("three").jwk] } });
    expect(next).not.toBe(first);
    await expect(next({ alg: "ES256", kid: "one" })).rejects.toMatchObject({ code: "unknown_kid" });
    expect(keySets.keysOf("d", { jwks: JSON.parse(stored) })).not.toBe(first);
  });

  it("are read again after the OP has changed its jwks in place, so that a removed key is not trusted", async () => {
    const keySets = createClientKeySets();
    const registered = { jwks: { keys: [testKey("one").jwk, testKey("two").jwk] } };
    const first = keySets.keysOf("c", registered);
    await expect(first({ alg: "ES256", kid: "one" })).resolves.toBeDefined();
    registered.jwks.keys.shift();
    registered.jwks.keys.push(testKey("three").jwk);
    const next = keySets.keysOf("c", registered);
    await expect(next({ alg: "ES256", kid: "one" })).rejects.toMatchObject({ code: "unknown_kid" });
    await expect(next({ alg: "ES256", kid: "three" })).resolves.toBeDefined();
    expect(keySets.keysOf("c", registered)).toBe(next);
  });

  it("are read again each time if their jwks is not JSON", () => {
    const keySets = createClientKeySets();
    const jwks = () => ({ keys: [testKey("one").jwk, { kty: "EC", "x-counter": 1n }] });
    const first = keySets.keysOf("c", { jwks: jwks() });
    expect(keySets.keysOf("c", { jwks: jwks() })).not.toBe(first);
  });

  it("connect to public addresses alone, unless the caller brings a dispatcher", async () => {
    const keySets = createClientKeySets();
    for (const host of ["127.0.0.1", "169.254.169.254", "[::1]", "localhost"]) {
      const keySet = keySets.keysOf(host, { jwksUri: `https://${host}/jwks` });
      await expect(keySet({ alg: "ES256", kid: "k" })).rejects.toMatchObject({ code: "address_refused" });
    }
  });

  it("are forgotten in the order of their use when there are too many", async () => {
    const keySets = createClientKeySets({ maxClients: 2 });
    const [one, two, three] = [{ jwks: { keys: [a.jwk] } }, { jwks: { keys: [a.jwk] } }, { jwks: { keys: [a.jwk] } }];
    const first = keySets.keysOf("one", one);
    const second = keySets.keysOf("two", two);
    expect(keySets.keysOf("one", one)).toBe(first);
    keySets.keysOf("three", three);
    expect(keySets.keysOf("one", one)).toBe(first);
    expect(keySets.keysOf("two", two)).not.toBe(second);
  });

  it("accept a signature without kid if exactly one key fits, unless switched off", async () => {
    const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256" }).sign(a.privateKey);
    const jwks = { keys: [testKey("r", "RS256").jwk, a.jwk] };
    await expect(jwtVerify(token, createClientKeySets().keysOf("one", { jwks }))).resolves.toBeDefined();
    const strict = createClientKeySets({ allowMissingKid: false });
    await expect(jwtVerify(token, strict.keysOf("one", { jwks }))).rejects.toMatchObject({ code: "missing_kid" });
    const two = { keys: [...jwks.keys, testKey("other").jwk] };
    await expect(jwtVerify(token, createClientKeySets().keysOf("one", { jwks: two }))).rejects.toMatchObject({
      code: "ambiguous_key",
    });
  });

  it("need one of jwks and jwksUri, and an https URI", () => {
    const keySets = createClientKeySets();
    const jwks = { keys: [a.jwk] };
    expect(() => keySets.keysOf("one", {})).toThrow(expect.objectContaining({ argument: "keys" }));
    expect(() => keySets.keysOf("one", { jwks, jwksUri: "https://rp.example/jwks" })).toThrow(
      expect.objectContaining({ argument: "keys" }),
    );
    const url: unknown = new URL("https://rp.example/jwks");
    expect(() => keySets.keysOf("one", { jwksUri: url as string })).toThrow(
      expect.objectContaining({
        argument: "jwksUri",
        message: "jwksUri: expected a non-empty string, got an object",
      }),
    );
    expect(() => keySets.keysOf("one", { jwksUri: "http://rp.example/jwks" })).toThrow(
      expect.objectContaining({
        argument: "jwksUri",
        message: "jwksUri: expected an https URL, got http://rp.example",
      }),
    );
    expect(() => createClientKeySets({ maxClients: 0 })).toThrow(expect.objectContaining({ argument: "maxClients" }));
  });
});
