import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { testKey } from "../support/keys.ts";
import { LONG_CACHE, origin, setup } from "../support/remote.ts";

// Rule 4: never another key.

const a = testKey("a");

describe("which key verifies", () => {
  it.each([["A"], ["a "], [" a"], ["á"], ["a\u0301"], ["a\u0000"]])('the kid %j is not the kid "a"', async (kid) => {
    const { verify } = await setup(origin([a], LONG_CACHE));
    const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256", kid }).sign(a.privateKey);
    await expect(verify(token)).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("never another one, even from a set of one key", async () => {
    const { verify } = await setup(origin([a], LONG_CACHE));
    const token = await new SignJWT({}).setProtectedHeader({ alg: "ES256", kid: "b" }).sign(a.privateKey);
    await expect(verify(token)).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("a known kid with a bad signature is refused without a refetch", async () => {
    const { verify, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    const forged = testKey("a").token();
    await expect(verify(forged)).rejects.toMatchObject({ code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" });
    expect(count()).toBe(1);
  });

  it("a known kid whose key does not fit the alg is refused after one refetch, as an unknown kid is", async () => {
    const { verify, clock, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    const token = await testKey("a", "RS256").token();
    await expect(verify(token)).rejects.toMatchObject({ code: "no_suitable_key", retryAfterMs: undefined });
    expect(count()).toBe(2);
    clock.advanceSeconds(5);
    await expect(verify(token)).rejects.toMatchObject({ code: "no_suitable_key", retryAfterMs: 15_000 });
    expect(count()).toBe(2);
  });

  it.each(["RS256", "ES384", "EdDSA"] as const)("a kid whose key became one for %s is refetched", async (alg) => {
    const { keySet, verify, server, count, last } = await setup(origin([a], LONG_CACHE));
    await keySet.preload();
    const changed = testKey("a", alg);
    server.answerWith(origin([changed], LONG_CACHE));
    await verify(changed.token());
    expect(count()).toBe(2);
    expect(last()).toMatchObject({ headers: { "cache-control": "no-cache" } });
  });

  it("a kid whose key kept its type and got another alg is refetched", async () => {
    const key = testKey("r", "RS256");
    const { verify, server, count } = await setup(origin([key], LONG_CACHE));
    await verify(key.token());
    server.answerWith(origin([{ ...key.jwk, alg: "PS256" }], LONG_CACHE));
    await verify(new SignJWT({}).setProtectedHeader({ alg: "PS256", kid: "r" }).sign(key.privateKey));
    expect(count()).toBe(2);
  });

  it.each<[string, object]>([
    ["use enc", { ...a.jwk, use: "enc" }],
    ["a padded coordinate", { ...a.jwk, x: `${a.jwk.x}=` }],
    ["an AKP key", { kty: "AKP", alg: "ML-DSA-65", kid: "a", pub: "AAAA" }],
  ])("a kid whose entry was left out (%s) is refused without a refetch", async (_name, entry) => {
    const { verify, count, keySet } = await setup(origin([entry, testKey("b")], LONG_CACHE));
    await expect(verify(a.token())).rejects.toMatchObject({ code: "key_left_out" });
    expect(count()).toBe(1);
    expect(keySet.stats()).toMatchObject({ keys: 1, forced: 0, throttled: 0 });
  });

  it("a key of a kind to come is skipped, and the others verify", async () => {
    const kinds = [
      { kty: "AKP", alg: "ML-DSA-65", kid: "pq", pub: "AAAA", use: "sig" },
      { kty: "XYZ", kid: "a" },
    ];
    const { verify, keySet } = await setup(origin([...kinds, a], LONG_CACHE));
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ keys: 1, dropped: { unsupported_kty: 2 } });
  });

  it("a key that is there twice is one key", async () => {
    const { verify, keySet } = await setup(origin([a, a], LONG_CACHE));
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ keys: 1, dropped: {} });
  });

  it.each([["none"], ["HS256"], ["es256"], ["ES256 "], ["ES256K"], ["toString"]])(
    "alg %j is refused before anything is fetched",
    async (alg) => {
      const { keySet, count } = await setup(origin([a], LONG_CACHE));
      await expect(keySet({ alg, kid: "a" })).rejects.toMatchObject({ code: "unsupported_alg" });
      expect(count()).toBe(0);
    },
  );

  it("header members that carry or point to a key are never used", async () => {
    const stranger = testKey("a");
    const { verify, server } = await setup(origin([a], LONG_CACHE));
    const header = {
      alg: "ES256",
      kid: "a",
      jwk: stranger.jwk,
      jku: `${server.origin}/other`,
      x5u: `${server.origin}/other`,
      x5c: ["AA=="],
    };
    const token = await new SignJWT({}).setProtectedHeader(header).sign(stranger.privateKey);
    await expect(verify(token)).rejects.toMatchObject({ code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" });
    expect(server.requests.map(({ path }) => path)).toEqual(["/jwks"]);
  });
});

describe("no kid", () => {
  const kidless = new SignJWT({}).setProtectedHeader({ alg: "ES256" }).sign(a.privateKey);

  it("is refused before anything is fetched", async () => {
    const { verify, count } = await setup(origin([a], LONG_CACHE));
    await expect(verify(kidless)).rejects.toMatchObject({ code: "missing_kid" });
    expect(count()).toBe(0);
  });

  it.each([[""], [7], [null]])("a kid of %j counts as missing, even if a missing kid is allowed", async (kid) => {
    const { keySet } = await setup(origin([a], LONG_CACHE), { allowMissingKid: true });
    await expect(keySet({ alg: "ES256", kid: kid as string })).rejects.toMatchObject({ code: "missing_kid" });
  });

  it("is accepted with allowMissingKid if exactly one key fits", async () => {
    const { verify } = await setup(origin([testKey("r", "RS256"), a], LONG_CACHE), { allowMissingKid: true });
    await expect(verify(kidless)).resolves.toBeDefined();
  });

  it("is refused with allowMissingKid if two keys fit", async () => {
    const { verify } = await setup(origin([a, testKey("b")], LONG_CACHE), { allowMissingKid: true });
    await expect(verify(kidless)).rejects.toMatchObject({ code: "ambiguous_key" });
  });
});

describe("several keys with one kid", () => {
  const decoys = [testKey("a", "EdDSA"), testKey("a", "PS256"), testKey("a", "ES384")];

  it("are told apart by type, curve and alg", async () => {
    const { verify } = await setup(origin([...decoys, a], LONG_CACHE));
    for (const key of [a, ...decoys]) await expect(verify(key.token())).resolves.toBeDefined();
  });

  it("a key with use enc is not a candidate", async () => {
    const { verify } = await setup(origin([{ ...testKey("a").jwk, use: "enc", alg: "ECDH-ES" }, a], LONG_CACHE));
    await expect(verify(a.token())).resolves.toBeDefined();
  });

  it("a key with key_ops without verify is not a candidate", async () => {
    const { use: _use, ...jwk } = testKey("a").jwk;
    const { verify } = await setup(origin([{ ...jwk, key_ops: ["deriveBits"] }, a], LONG_CACHE));
    await expect(verify(a.token())).resolves.toBeDefined();
  });

  it("are refused if more than one remains", async () => {
    const { verify } = await setup(origin([testKey("a"), a], LONG_CACHE));
    await expect(verify(a.token())).rejects.toMatchObject({ code: "ambiguous_key" });
  });

  it("a key without alg fits every alg of its type", async () => {
    const key = testKey("r", "RS256");
    const { alg: _alg, use: _use, ...jwk } = key.jwk;
    const { verify } = await setup(origin([jwk], LONG_CACHE));
    await expect(verify(key.token())).resolves.toBeDefined();
    await expect(
      verify(new SignJWT({}).setProtectedHeader({ alg: "PS256", kid: "r" }).sign(key.privateKey)),
    ).resolves.toBeDefined();
  });
});
