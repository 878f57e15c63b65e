import { generateKeyPairSync, sign as nodeSign, verify } from "node:crypto";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as jose from "jose";
import {
  ConfigurationError,
  createKeySet,
  guardSigner,
  jwkThumbprint,
  type JwtClaims,
  type KeySet,
  signJws,
  type SignJwsOptions,
  signJwt,
  signWith,
} from "@signpost/core";
import { failure } from "../support/failure.ts";
import { type Behaviour, scriptedSigner, scriptedSignerOf, signs, signsAfter } from "../support/scripted-signer.ts";

function setOf(...behaviours: Behaviour[]) {
  const scripted = scriptedSigner(...behaviours);
  const signer = guardSigner(scripted.signer);
  return { ...scripted, signer, keys: createKeySet([{ keyId: "sig-1", signer }]) };
}

function nested(levels: number): Record<string, unknown> {
  let claims = {};
  for (let level = 1; level < levels; level += 1) claims = { a: claims };
  return claims;
}

function withHole(): string[] {
  const items: string[] = [];
  items[1] = "a";
  return items;
}

afterEach(() => {
  vi.useRealTimers();
});

describe("signJws", () => {
  test("makes a compact JWS that jose verifies, with alg and kid in its header", async () => {
    const { keys, publicKey } = setOf(signs);
    const { payload, protectedHeader } = await jose.compactVerify(await signJws(keys, "text"), publicKey);
    expect(new TextDecoder().decode(payload)).toBe("text");
    expect(protectedHeader).toEqual({ alg: "ES256", kid: "sig-1" });
  });

  test.each<[string, SignJwsOptions, object]>([
    ["typ", { typ: "at+jwt" }, { typ: "at+jwt" }],
    ["cty", { cty: "JWT" }, { cty: "JWT" }],
    [
      "members of the caller's own",
      { header: { iss: "a", "https://x": [1, null] } },
      { iss: "a", "https://x": [1, null] },
    ],
  ])("takes %s", async (_name, options, expected) => {
    const { keys } = setOf(signs);
    expect(jose.decodeProtectedHeader(await signJws(keys, "", options))).toEqual({
      alg: "ES256",
      kid: "sig-1",
      ...expected,
    });
  });

  test.each(["alg", "kid", "crit", "b64"])("refuses %s in a given header", async (name) => {
    const { keys, calls } = setOf(signs);
    expect(await failure(signJws(keys, "", { header: { [name]: "ES256" } }))).toMatchObject({
      argument: `header.${name}`,
    });
    expect(calls).toHaveLength(0);
  });

  test.each(["typ", "cty"])("refuses %s twice", async (name) => {
    const { keys } = setOf(signs);
    expect(await failure(signJws(keys, "", { [name]: "a", header: { [name]: "b" } }))).toMatchObject({
      argument: `header.${name}`,
      message: expect.stringContaining(`not allowed together with the option ${name}`),
    });
  });

  test.each([
    ["typ", "", "an empty string"],
    ["typ", 7, "7"],
    ["typ", null, "null"],
    ["cty", "", "an empty string"],
    ["cty", ["JWT"], "an array"],
  ])("refuses the %s %j", async (name, value, got) => {
    const { keys, calls } = setOf(signs);
    for (const header of [undefined, { x: 1 }]) {
      expect(await failure(signJws(keys, "", { [name]: value, header }))).toMatchObject({
        argument: name,
        message: `${name}: expected a non-empty string, got ${got}`,
      });
    }
    expect(calls).toHaveLength(0);
  });

  test("signs bytes as they are, and text as UTF-8", async () => {
    const { keys, publicKey } = setOf(signs);
    const bytes = Uint8Array.from([0, 255, 128]);
    expect((await jose.compactVerify(await signJws(keys, bytes), publicKey)).payload).toEqual(bytes);
    const text = (await jose.compactVerify(await signJws(keys, "zażółć 🔑"), publicKey)).payload;
    expect(new TextDecoder().decode(text)).toBe("zażółć 🔑");
  });

  test.each([
    ["a lone surrogate", "\ud800"],
    ["a number", 1],
    ["null", null],
  ])("refuses a payload that is %s", async (_name, payload) => {
    const { keys } = setOf(signs);
    expect(await failure(signJws(keys, payload as string))).toMatchObject({ argument: "payload" });
  });
});

describe("signJwt", () => {
  test("fills in iat, in whole seconds", async () => {
    vi.useFakeTimers({ now: new Date("2026-01-01T00:00:00.900Z"), toFake: ["Date"] });
    const { keys } = setOf(signs);
    expect(jose.decodeJwt(await signJwt(keys, { sub: "a" }))).toEqual({ sub: "a", iat: 1767225600 });
  });

  test.each<[string, JwtClaims, false | number | undefined, object]>([
    ["keeps the claims' own iat", { iat: 5 }, undefined, { iat: 5 }],
    ["takes a given iat", { sub: "a" }, 7, { sub: "a", iat: 7 }],
    ["adds none when turned off", { sub: "a" }, false, { sub: "a" }],
    ["keeps the claims' own iat when turned off", { iat: 5 }, false, { iat: 5 }],
  ])("%s", async (_name, claims, iat, expected) => {
    const { keys } = setOf(signs);
    expect(jose.decodeJwt(await signJwt(keys, claims, { iat }))).toEqual(expected);
  });

  test.each<[string, unknown, string]>([
    ["an undefined member", { sub: undefined }, "claims.sub"],
    ["an undefined item", { aud: ["a", undefined] }, "claims.aud[1]"],
    ["a hole in an array", { aud: withHole() }, "claims.aud[0]"],
    ["NaN", { auth_time: Number.NaN }, "claims.auth_time"],
    ["Infinity, nested", { a: { b: [Number.POSITIVE_INFINITY] } }, "claims.a.b[0]"],
    ["a Date", { exp: new Date() }, "claims.exp"],
    ["a bigint", { n: 1n }, "claims.n"],
    ["a function", { toJSON: () => ({}) }, "claims.toJSON"],
    ["an instance of a class", { m: new Map() }, "claims.m"],
    ["exp as a string", { exp: "1700000000" }, "claims.exp"],
    ["nbf as null", { nbf: null }, "claims.nbf"],
    ["claims inherited from another object", Object.create({ sub: "a" }), "claims"],
    ["claims inherited from an object without a prototype", Object.create(Object.create(null)), "claims"],
    ["claims 100,000 levels deep", nested(100_000), `claims${".a".repeat(65)}`],
    ["an array for the claims", [], "claims"],
    ["null for the claims", null, "claims"],
    ["a string for the claims", "{}", "claims"],
  ])("refuses %s and names it", async (_name, claims, argument) => {
    const { keys, calls } = setOf(signs);
    const error = await failure(signJwt(keys, claims as JwtClaims));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument });
    expect(calls).toHaveLength(0);
  });

  test.each<[string, JwtClaims]>([
    ["an object of another realm", runInNewContext('({ sub: "a" })') as JwtClaims],
    ["an object without a prototype", Object.assign(Object.create(null), { sub: "a" })],
  ])("takes %s", async (_name, claims) => {
    expect(jose.decodeJwt(await signJwt(setOf(signs).keys, claims, { iat: false }))).toEqual({ sub: "a" });
  });

  test("reads each member once, so that a getter cannot change what was checked", async () => {
    let reads = 0;
    const claims = {
      get jti(): string {
        reads += 1;
        return reads === 1 ? "first" : "changed";
      },
    };
    const token = await signJwt(setOf(signs).keys, claims, { iat: false });
    expect(jose.decodeJwt(token)).toEqual({ jti: "first" });
    expect(reads).toBe(1);
  });

  test("keeps a member named __proto__ as data", async () => {
    const claims = JSON.parse('{"__proto__":{"iat":1},"sub":"a"}') as JwtClaims;
    const [, payload = ""] = (await signJwt(setOf(signs).keys, claims, { iat: 5 })).split(".");
    expect(Buffer.from(payload, "base64url").toString()).toBe('{"__proto__":{"iat":1},"sub":"a","iat":5}');
  });

  test("refuses a cycle", async () => {
    const claims: Record<string, unknown> = {};
    claims["self"] = claims;
    expect(await failure(signJwt(setOf(signs).keys, claims))).toBeInstanceOf(ConfigurationError);
  });

  test("refuses an iat option if the claims have an iat", async () => {
    expect(await failure(signJwt(setOf(signs).keys, { iat: 5 }, { iat: 6 }))).toMatchObject({ argument: "iat" });
  });

  test("a token with any one bit of its signature flipped does not verify", async () => {
    const { keys, publicKey } = setOf(signs);
    const token = await signJwt(keys, { sub: "a" });
    const [header, payload, signature = ""] = token.split(".");
    await jose.compactVerify(token, publicKey);
    for (let bit = 0; bit < 512; bit += 1) {
      const bytes = Buffer.from(signature, "base64url");
      bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      await expect(
        jose.compactVerify(`${header}.${payload}.${bytes.toString("base64url")}`, publicKey),
      ).rejects.toThrow(jose.errors.JWSSignatureVerificationFailed);
    }
  });
});

describe("a signature that is not by the published key", () => {
  const foreign = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const signsWithAnotherKey: Behaviour = (call) =>
    nodeSign("sha256", call.signingInput ?? call.digest, { key: foreign, dsaEncoding: "ieee-p1363" });

  test("never leaves as a token, and turns health down", async () => {
    const { keys, signer } = setOf(signsWithAnotherKey);
    expect(await failure(signJwt(keys, {}))).toMatchObject({ code: "bad_signature" });
    expect(signer.health()).toMatchObject({ status: "down", lastCode: "bad_signature" });
  });

  test("never leaves among many at once, and refuses none of the others", async () => {
    let calls = 0;
    const everyFifth: Behaviour = (call) => (calls++ % 5 === 0 ? signsWithAnotherKey(call) : call.sign());
    const { keys, publicKey } = setOf(everyFifth);
    const inputs = Array.from({ length: 50 }, (_, index) => Buffer.from(`input ${index}`));
    const outcomes = await Promise.allSettled(inputs.map((input) => signWith(keys.active, input)));
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(10);
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: "bad_signature" } });
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === "rejected") continue;
      const input = inputs[index] ?? Buffer.alloc(0);
      expect(verify("sha256", input, { key: publicKey, dsaEncoding: "ieee-p1363" }, outcome.value)).toBe(true);
    }
  });

  test("returned buffer is not the signer's own: it may write into it later", async () => {
    const { signer, publicKey } = scriptedSigner();
    let own: Uint8Array = new Uint8Array();
    const bare = {
      ...signer,
      sign: async (digest: Uint8Array) => {
        own = await signer.sign(digest);
        return own;
      },
    };
    const input = new TextEncoder().encode("header.payload");
    const signature = await signWith(createKeySet([{ signer: bare }]).active, input);
    own.fill(0);
    expect(verify("sha256", input, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
  });

  test.each([
    ["no bytes", "text"],
    ["too short", new Uint8Array(63)],
    ["zero", new Uint8Array(64)],
    ["nothing", undefined],
  ])("of a bare signer that is %s is a typed error", async (_name, result) => {
    const { signer } = scriptedSigner();
    const bare = { ...signer, sign: async () => result as Uint8Array };
    const { active } = createKeySet([{ signer: bare }]);
    expect(await failure(signWith(active, new Uint8Array([1])))).toMatchObject({
      code: "bad_signature",
      uri: "scripted:key",
    });
  });

  test("is caught by verify: first as long as no signature was good", async () => {
    const { keys } = setOf(signsWithAnotherKey, signs, signsWithAnotherKey);
    expect(await failure(signJwt(keys, {}, { verify: "first" }))).toMatchObject({ code: "bad_signature" });
    await signJwt(keys, {}, { verify: "first" });
    await signJwt(keys, {}, { verify: "first" });
    expect(await failure(signJwt(keys, {}, { verify: "always" }))).toMatchObject({ code: "bad_signature" });
  });

  test("is only caught by signWith", async () => {
    const { keys } = setOf(signsWithAnotherKey);
    expect(await failure(signWith(keys.active, Buffer.from("input")))).toMatchObject({ code: "bad_signature" });
  });

  test("never leaves when the signer wrote into its signing input and signed that", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const writes: Behaviour = ({ signingInput = new Uint8Array() }) => {
      signingInput.fill(0x41);
      return nodeSign("sha256", signingInput, { key: privateKey, dsaEncoding: "ieee-p1363" });
    };
    const { signer } = scriptedSignerOf({ privateKey, publicKey }, writes);
    expect(await failure(signJws(createKeySet([{ signer }]), "text"))).toMatchObject({ code: "bad_signature" });
  });

  test.each([["verify", { verify: "never" }]])("refuses an unknown %s", async (argument, options) => {
    const { keys } = setOf(signs);
    expect(await failure(signWith(keys.active, new Uint8Array(1), options as never))).toMatchObject({ argument });
  });
});

describe("the caller's signing input", () => {
  test("may be reused immediately: the bytes at the time of the call are signed and verified", async () => {
    const { keys, publicKey, signer } = setOf(signsAfter(5));
    const input = Buffer.from("input");
    const signing = signWith(keys.active, input);
    input.fill(0);
    const signature = await signing;
    expect(verify("sha256", Buffer.from("input"), { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
    expect(signer.health().status).toBe("ready");
  });

  test("and a payload may come from another realm, as test runners make them", async () => {
    const { keys, publicKey } = setOf(signs);
    const bytes = runInNewContext("Uint8Array.from([1, 2, 3])") as Uint8Array;
    expect((await jose.compactVerify(await signJws(keys, bytes), publicKey)).payload).toEqual(
      Uint8Array.from([1, 2, 3]),
    );
    expect(await signWith(keys.active, bytes)).toHaveLength(64);
  });
});

describe("while the set is swapped", () => {
  test("header, signature and verification stay with the entry that was active at the call", async () => {
    const a = setOf(signsAfter(20));
    const b = setOf(signs);
    let current: KeySet = createKeySet([{ signer: a.signer }, { signer: b.signer }]);
    const source = () => current;
    const token = signJwt(source, { sub: "a" });
    current = createKeySet([{ signer: b.signer }, { signer: a.signer }]);
    const next = await signJwt(source, { sub: "b" });
    await jose.jwtVerify(await token, a.publicKey);
    await jose.jwtVerify(next, b.publicKey);
    expect(jose.decodeProtectedHeader(await token).kid).toBe(jwkThumbprint(a.signer.publicKey));
    expect(jose.decodeProtectedHeader(next).kid).toBe(jwkThumbprint(b.signer.publicKey));
  });

  test("a source that throws rejects the call", async () => {
    const cause = new Error("no schedule");
    const source = () => {
      throw cause;
    };
    expect(await failure(signJwt(source, {}))).toBe(cause);
  });

  test("a set that gives a kid to another key is refused", async () => {
    let current = setOf(signs).keys;
    const source = () => current;
    await signJwt(source, {});
    current = setOf(signs).keys;
    expect(await failure(signJwt(source, {}))).toMatchObject({ code: "kid_rebound" });
  });
});

describe("an abort", () => {
  test("passes through to the signer", async () => {
    const { keys } = setOf(signsAfter(20));
    const controller = new AbortController();
    const failed = failure(signJwt(keys, {}, { signal: controller.signal }));
    controller.abort("reason");
    expect(await failed).toMatchObject({ code: "aborted", cause: "reason" });
  });
});
