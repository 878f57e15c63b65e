import { createHmac } from "node:crypto";
import {
  createMemoryReplayStore,
  createStaticKeySet,
  RP_SIGNING_ALGORITHMS,
  verifyClientAssertion,
  verifyRequestObject,
} from "@signpost/verify";
import type { KeyFunction } from "@signpost/verify";
import { describe, expect, it } from "vitest";
import type { TestKey } from "../support/keys.ts";
import { testKey } from "../support/keys.ts";
import { encoded, es256, es256Der, ps256, rawJws } from "../support/raw-jws.ts";

// Behaviours V1 to V8, the same for client assertions and for request objects.

const issuer = "https://op.example";
const keys = {
  ES256: testKey("e"),
  RS256: testKey("r", "RS256"),
  PS256: testKey("p", "PS256"),
  EdDSA: testKey("d", "EdDSA"),
} as const;
const registered = createStaticKeySet({ keys: Object.values(keys).map(({ jwk }) => jwk) });
const { ES256: key } = keys;

const claims = (): Record<string, unknown> => ({
  iss: "client",
  client_id: "client",
  aud: issuer,
  exp: Math.floor(Date.now() / 1000) + 60,
  jti: Math.random().toString(36),
});

interface Purpose {
  claims(): Record<string, unknown>;
  verify(jwt: string, keyFunction?: KeyFunction): Promise<unknown>;
}

const purposes: Record<string, Purpose> = {
  "a client assertion": {
    claims: () => ({ ...claims(), sub: "client" }),
    verify: async (jwt, keyFunction = registered) =>
      verifyClientAssertion(jwt, { issuer, keysOf: () => keyFunction, replayStore: createMemoryReplayStore() }),
  },
  "a request object": {
    claims,
    verify: async (jwt, keyFunction = registered) =>
      verifyRequestObject(jwt, { issuer, clientId: "client", keyFunction }),
  },
};

/** Fails the test when a key is looked up. */
const noLookup: KeyFunction = () => Promise.reject(new Error("a key was looked up"));

describe("the list of algorithms", () => {
  it("is what an OP accepts of RPs", () => {
    expect(RP_SIGNING_ALGORITHMS).toEqual(["RS256", "PS256", "ES256", "EdDSA"]);
  });
});

describe.each(Object.entries(purposes))("the signature of %s", (_name, purpose) => {
  const { verify } = purpose;

  it.each(RP_SIGNING_ALGORITHMS)("%s is accepted", async (alg) => {
    await expect(verify(await keys[alg].token(purpose.claims()))).resolves.toBeDefined();
  });

  it.each([
    ["none"],
    ["NONE"],
    ["HS256"],
    ["es256"],
    ["ES256 "],
    ["Es256"],
    ["ES384"],
    ["ES512"],
    ["ES256K"],
    ["RS384"],
    ["RS512"],
    ["PS512"],
    ["rs256"],
    ["Ed25519"],
    ["eddsa"],
    ["ML-DSA-65"],
    [""],
    ["__proto__"],
    [7],
    [null],
    [["ES256"]],
  ])("alg %j is refused before any key is looked up", async (alg) => {
    const jwt = rawJws({ alg, kid: "e" }, purpose.claims(), es256(key.privateKey));
    await expect(verify(jwt, noLookup)).rejects.toMatchObject({ code: "alg_not_allowed" });
  });

  it("a header without alg is refused", async () => {
    await expect(verify(rawJws({ kid: "e" }, purpose.claims(), es256(key.privateKey)), noLookup)).rejects.toMatchObject(
      { code: "alg_not_allowed" },
    );
  });

  it("a MAC with the public key as its secret is refused", async () => {
    const secret = JSON.stringify(key.jwk);
    const jwt = rawJws({ alg: "HS256", kid: "e" }, purpose.claims(), (input) =>
      createHmac("sha256", secret).update(input).digest(),
    );
    await expect(verify(jwt)).rejects.toMatchObject({ code: "alg_not_allowed" });
  });

  it.each([
    ["RS256", "e"],
    ["EdDSA", "e"],
    ["ES256", "r"],
    ["ES256", "d"],
    ["RS256", "p"],
    ["PS256", "r"],
  ])("alg %s does not fit the key %s", async (alg, kid) => {
    const jwt = rawJws({ alg, kid }, purpose.claims(), es256(key.privateKey));
    await expect(verify(jwt)).rejects.toMatchObject({ code: "no_suitable_key" });
  });

  it("jose's own check stands behind a key function that gives a key of another type", async () => {
    const other = createStaticKeySet({ keys: [keys.RS256.jwk] });
    const jwt = rawJws({ alg: "ES256", kid: "e" }, purpose.claims(), es256(key.privateKey));
    await expect(verify(jwt, () => other({ alg: "RS256", kid: "r" }))).rejects.toMatchObject({ code: "bad_signature" });
  });

  it("a signature of zeros does not verify", async () => {
    for (const alg of ["ES256", "EdDSA"] as const) {
      const jwt = rawJws({ alg, kid: keys[alg].kid }, purpose.claims(), () => new Uint8Array(64));
      await expect(verify(jwt)).rejects.toMatchObject({ code: "bad_signature" });
    }
  });

  it("of a header member that is there twice, the last counts, as for jose (RFC 7515 section 4)", async () => {
    const sign = es256(key.privateKey);
    const twice = (members: string): string => rawJws(`{${members},"kid":"e"}`, purpose.claims(), sign);
    await expect(verify(twice('"alg":"none","alg":"ES256"'))).resolves.toBeDefined();
    await expect(verify(twice('"alg":"ES256","alg":"none"'))).rejects.toMatchObject({ code: "alg_not_allowed" });
    await expect(verify(twice('"alg":"ES256","crit":["x"],"\\u0063rit":[]'))).rejects.toMatchObject({
      code: "unsupported_header",
    });
  });

  it("ES256 is exactly 64 bytes: no DER, no byte more or less", async () => {
    const header = { alg: "ES256", kid: "e" };
    const resized = (change: (signature: Buffer) => Uint8Array) => (input: Buffer) =>
      change(Buffer.from(es256(key.privateKey)(input)));
    const der = rawJws(header, purpose.claims(), es256Der(key.privateKey));
    const shorter = rawJws(
      header,
      purpose.claims(),
      resized((signature) => signature.subarray(1)),
    );
    const longer = rawJws(
      header,
      purpose.claims(),
      resized((signature) => Buffer.concat([Buffer.alloc(1), signature])),
    );
    const empty = rawJws(header, purpose.claims(), () => new Uint8Array());
    for (const jwt of [der, shorter, longer, empty])
      await expect(verify(jwt)).rejects.toMatchObject({
        code: "bad_signature",
        message: "expected a signature of 64 bytes",
      });
    await expect(verify(rawJws(header, purpose.claims(), es256(key.privateKey)))).resolves.toBeDefined();
  });

  it.each([0, 20, 31, 33, 222])("PS256 with a salt of %i bytes is refused, with 32 accepted", async (saltLength) => {
    const header = { alg: "PS256", kid: "p" };
    await expect(
      verify(rawJws(header, purpose.claims(), ps256(keys.PS256.privateKey, saltLength))),
    ).rejects.toMatchObject({ code: "bad_signature" });
    await expect(verify(rawJws(header, purpose.claims(), ps256(keys.PS256.privateKey, 32)))).resolves.toBeDefined();
  });

  it.each<[string, unknown]>([
    ["crit", ["exp"]],
    ["crit", ["b64"]],
    ["crit", []],
    ["crit", null],
    ["b64", false],
    ["b64", true],
  ])("%s: %j is refused before any key is looked up", async (name, value) => {
    const jwt = rawJws({ alg: "ES256", kid: "e", [name]: value, exp: 1 }, purpose.claims(), es256(key.privateKey));
    await expect(verify(jwt, noLookup)).rejects.toMatchObject({ code: "unsupported_header" });
  });

  it("jku, x5u, jwk and x5c in the header are inert", async () => {
    const stranger: TestKey = testKey("e");
    const header = {
      alg: "ES256",
      kid: "e",
      jwk: stranger.jwk,
      jku: "https://evil.example/jwks",
      x5u: "https://evil.example/x",
      x5c: ["AA=="],
    };
    await expect(verify(rawJws(header, purpose.claims(), es256(stranger.privateKey)))).rejects.toMatchObject({
      code: "bad_signature",
    });
    await expect(verify(rawJws(header, purpose.claims(), es256(key.privateKey)))).resolves.toBeDefined();
  });

  it("only what selects a key reaches the key function", async () => {
    const seen: unknown[] = [];
    const header = { alg: "ES256", kid: "e", jku: "https://evil.example/jwks" };
    await verify(rawJws(header, purpose.claims(), es256(key.privateKey)), (given) => {
      seen.push(given);
      return registered(given);
    });
    expect(seen).toEqual([{ alg: "ES256", kid: "e" }]);
  });

  it.each<[string, (jwt: string) => string]>([
    ["padding", (jwt) => `${jwt}==`],
    ["a space before", (jwt) => ` ${jwt}`],
    ["a line feed after", (jwt) => `${jwt}\n`],
    ["two parts", (jwt) => jwt.slice(0, jwt.lastIndexOf("."))],
    ["four parts", (jwt) => `${jwt}.`],
    ["five parts", (jwt) => `${jwt}..`],
    [
      "the standard alphabet",
      (jwt) =>
        `${encoded({ alg: "ES256", kid: "e", x: "~~~" }).replaceAll("_", "/").replaceAll("-", "+")}+${jwt.slice(jwt.indexOf("."))}`,
    ],
    ["an empty header", (jwt) => jwt.slice(jwt.indexOf("."))],
    ["an empty payload", (jwt) => jwt.replace(/\..*\./, "..")],
    ["a header that is not an object", (jwt) => encoded("[]") + jwt.slice(jwt.indexOf("."))],
    ["a header that is not JSON", (jwt) => encoded("{") + jwt.slice(jwt.indexOf("."))],
    ["a payload that is not an object", (jwt) => jwt.replace(/\..*\./, `.${encoded("7")}.`)],
    ["more than 64 KiB", (jwt) => jwt.replace(/\..*\./, `.${"A".repeat(65_536)}.`)],
    ["nothing at all", () => ""],
  ])("a JWS with %s is refused before any key is looked up", async (_what, change) => {
    const jwt = rawJws({ alg: "ES256", kid: "e" }, purpose.claims(), es256(key.privateKey));
    await expect(verify(change(jwt), noLookup)).rejects.toMatchObject({ code: "malformed_jwt" });
  });

  it("a JWS that is too long gets that error", async () => {
    const code = "malformed_jwt";
    await expect(verify("A".repeat(65_537), noLookup)).rejects.toMatchObject({
      code,
      message: expect.stringContaining("65536"),
    });
    await expect(verify("A".repeat(65_536), noLookup)).rejects.toMatchObject({
      code,
      message: expect.stringContaining("three"),
    });
  });

  it("a kid that is not a string is refused", async () => {
    await expect(
      verify(rawJws({ alg: "ES256", kid: 7 }, purpose.claims(), es256(key.privateKey))),
    ).rejects.toMatchObject({ claim: "kid" });
  });

  it("a signature by another client's key of the same kid is refused", async () => {
    await expect(
      verify(rawJws({ alg: "ES256", kid: "e" }, purpose.claims(), es256(testKey("e").privateKey))),
    ).rejects.toMatchObject({ code: "bad_signature" });
  });

  it("a change of the payload is refused", async () => {
    const [header, , signature] = rawJws({ alg: "ES256", kid: "e" }, purpose.claims(), es256(key.privateKey)).split(
      ".",
    );
    await expect(
      verify(`${header}.${encoded({ ...purpose.claims(), scope: "admin" })}.${signature}`),
    ).rejects.toMatchObject({ code: "bad_signature" });
  });
});
