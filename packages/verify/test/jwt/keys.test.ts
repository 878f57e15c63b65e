import { createPublicKey, generateKeyPairSync, webcrypto } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { createKeySet, createRotationSchedule, signJwt, SignerError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createJwtVerifier, createOwnKeySet, createStaticKeySet, discoverKeySet } from "@signpost/verify";
import type { KeyFunction } from "@signpost/verify";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { createLocalJWKSet, createRemoteJWKSet, SignJWT } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { CLIENT, ID_CLAIMS, idToken, idTokens, ISSUER, key, keys } from "../support/jwt.ts";
import { testKey } from "../support/keys.ts";
import { gate, LONG_CACHE, origin, setup } from "../support/remote.ts";

// Where the keys come from.

const next = testKey("next");
const HANGING = { status: 200, after: new Promise<void>(() => {}) };
const nextToken = (): Promise<string> => next.token(ID_CLAIMS);

describe("a remote key set", () => {
  it("gives a verifier the same rules as jose: one fetch, a refetch for a new kid, and none while throttled", async () => {
    const { keySet, server, clock, count, verify } = await setup(origin([key], LONG_CACHE));
    const verifier = idTokens({ keys: keySet });
    await Promise.all(Array.from({ length: 50 }, () => verifier.verify(idToken())));
    expect(count()).toBe(1);
    clock.advanceSeconds(1);
    server.answerWith(origin([next, key], LONG_CACHE));
    await expect(verifier.verify(await nextToken())).resolves.toBeDefined();
    expect(count()).toBe(2);
    const unknown = testKey("unknown").token(ID_CLAIMS);
    await expect(verifier.verify(await unknown)).rejects.toMatchObject({
      name: "KeySetError",
      code: "unknown_kid",
      retryAfterMs: 20_000,
      transient: false,
    });
    await expect(verify(unknown)).rejects.toMatchObject({ code: "unknown_kid", retryAfterMs: 20_000 });
    expect(count()).toBe(2);
  });

  it("no longer verifies with a key that left the set, and never with another key under an old kid", async () => {
    const { keySet, server } = await setup(origin([key], LONG_CACHE));
    const verifier = idTokens({ keys: keySet });
    await verifier.verify(idToken());
    server.answerWith(origin([next], LONG_CACHE));
    await keySet.refresh();
    await expect(verifier.verify(idToken())).rejects.toMatchObject({ code: "unknown_kid" });
    const impostor = testKey("k");
    server.answerWith(origin([next, impostor], LONG_CACHE));
    await keySet.refresh();
    await expect(verifier.verify(await impostor.token(ID_CLAIMS))).rejects.toMatchObject({ code: "kid_rebound" });
  });

  it("fails with a transient error while the OP is down", async () => {
    const { keySet, server } = await setup({ status: 503 });
    const verifier = idTokens({ keys: keySet });
    await expect(verifier.verify(idToken())).rejects.toMatchObject({
      code: "http_status",
      status: 503,
      transient: true,
    });
    await server.stop();
  });

  it("stops waiting for a caller whose signal aborts, and for no other", async () => {
    const { opened, open } = gate();
    const { keySet, count } = await setup((request) => {
      const reply = origin([key], LONG_CACHE)(request);
      return reply === "destroy" ? reply : { ...reply, after: opened };
    });
    for (const source of [keySet, (header: Parameters<KeyFunction>[0]) => keySet(header)]) {
      const verifier = idTokens({ keys: source });
      const controller = new AbortController();
      const aborted = verifier.verify(idToken(), { signal: controller.signal });
      controller.abort(new Error("gone"));
      await expect(aborted).rejects.toMatchObject({ code: "aborted", cause: controller.signal.reason });
    }
    const waiting = idTokens({ keys: keySet }).verify(idToken());
    open();
    await expect(waiting).resolves.toBeDefined();
    expect(count()).toBe(1);
  });

  it("for callers that can abort may be used by a verifier, whose callers can abort too", async () => {
    const { keySet } = await setup(() => ({ ...HANGING }));
    const shutdown = new AbortController();
    const verifier = idTokens({ keys: keySet.withSignal(shutdown.signal) });
    const caller = new AbortController();
    const first = verifier.verify(idToken(), { signal: caller.signal });
    const second = verifier.verify(idToken(), { signal: new AbortController().signal });
    caller.abort(new Error("gone"));
    await expect(first).rejects.toMatchObject({ code: "aborted", cause: new Error("gone") });
    shutdown.abort(new Error("stopped"));
    await expect(second).rejects.toMatchObject({ code: "aborted", cause: new Error("stopped") });
  });

  it("may be found by discovery", async () => {
    const server = await startCountingJwksServer((request) =>
      request.path.endsWith("openid-configuration")
        ? {
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ issuer: server.origin, jwks_uri: server.jwksUri }),
          }
        : origin([key], LONG_CACHE)(request),
    );
    onTestFinished(() => server.stop());
    const verifier = idTokens({
      issuer: server.origin,
      keys: discoverKeySet(server.origin, { allowInsecureLoopback: true }),
    });
    await expect(verifier.verify(idToken({ iss: server.origin }))).resolves.toBeDefined();
    expect(server.requests).toHaveLength(2);
  });
});

describe("the OP's own keys", () => {
  it("verify what signJwt signs, before and after a rotation", async () => {
    const [one, two] = [await openLocalSigner(), await openLocalSigner()];
    let time = Date.now();
    const day = (days: number): Date => new Date(time + days * 86_400_000);
    const schedule = createRotationSchedule(
      [
        { keyId: "one", signer: one, announcedFrom: day(0), activeFrom: day(0) },
        { keyId: "two", signer: two, announcedFrom: day(9), activeFrom: day(10) },
      ],
      { maxTokenLifetimeSeconds: 3600, now: () => time },
    );
    const later = day(10).getTime();
    const retired = day(11).getTime();
    const claims = (): typeof ID_CLAIMS => ({
      ...ID_CLAIMS,
      iat: Math.floor(time / 1000),
      exp: Math.floor(time / 1000) + 300,
    });
    const verifier = idTokens({ keys: createOwnKeySet(schedule), now: () => time });
    const first = await signJwt(schedule, claims());
    await expect(verifier.verify(first)).resolves.toMatchObject({ header: { kid: "one" } });
    time = later;
    await expect(verifier.verify(await signJwt(schedule, claims()))).resolves.toMatchObject({ header: { kid: "two" } });
    await expect(verifier.verify(first)).rejects.toMatchObject({ code: "expired" });
    time = retired;
    await expect(verifier.verify(first)).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("sign tokens of each type, and none of them passes for another", async () => {
    const set = createKeySet([{ signer: await openLocalSigner() }]);
    const now = Math.floor(Date.now() / 1000);
    const common = { iss: ISSUER, aud: CLIENT, sub: "s", iat: now, exp: now + 60, client_id: "c", jti: "j" };
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    const tokens = {
      id_token: await signJwt(set, common),
      access_token: await signJwt(set, common, { typ: "at+jwt" }),
      logout_token: await signJwt(set, { ...common, events }, { typ: "logout+jwt" }),
      untyped_logout_token: await signJwt(set, { ...common, events }),
    };
    const shared = { issuer: ISSUER, audience: CLIENT, keys: createOwnKeySet(set) };
    const verifiers = {
      id_token: createJwtVerifier({ type: "id_token", ...shared }),
      access_token: createJwtVerifier({ type: "access_token", ...shared }),
    };
    for (const [type, verifier] of Object.entries(verifiers)) {
      for (const [kind, token] of Object.entries(tokens)) {
        const outcome = await verifier.verify(token).then(
          () => "verified",
          (error: { code: string }) => error.code,
        );
        const refusal = kind === "untyped_logout_token" && type === "id_token" ? "invalid_claim" : "invalid_typ";
        expect([type, kind, outcome]).toEqual([type, kind, kind === type ? "verified" : refusal]);
      }
    }
  });
});

describe("any other key function", () => {
  it("may be one of jose, or a function around ours", async () => {
    const server = await startCountingJwksServer(origin([key], LONG_CACHE));
    onTestFinished(() => server.stop());
    const sources: readonly KeyFunction[] = [
      createRemoteJWKSet(new URL(server.jwksUri)),
      createLocalJWKSet({ keys: [key.jwk] }),
      (header) => keys(header),
      async () => key.publicKey as never,
    ];
    for (const source of sources) {
      const verifier = idTokens({ keys: source });
      await expect(verifier.verify(idToken())).resolves.toBeDefined();
      await expect(verifier.verify(idToken().replace(/.{86}$/, "A".repeat(86)))).rejects.toMatchObject({
        code: "bad_signature",
      });
    }
  });

  it("is called, even if it has the members of ours", async () => {
    const refusing = Object.assign(async () => Promise.reject(new Error("refused")), keys);
    await expect(idTokens({ keys: refusing }).verify(idToken())).rejects.toThrow("refused");
  });

  it("rejects with its own error", async () => {
    const verifier = idTokens({ keys: async () => Promise.reject(new Error("no network")) });
    await expect(verifier.verify(idToken())).rejects.toThrow("no network");
  });

  it("rejects with its own error for a caller that can abort, and may return a key without a promise", async () => {
    const { signal } = new AbortController();
    const failing = idTokens({ keys: async () => Promise.reject(new SignerError("timeout", "the token hangs")) });
    await expect(failing.verify(idToken(), { signal })).rejects.toThrow("the token hangs");
    const immediate = idTokens({ keys: (() => key.publicKey) as never });
    await expect(immediate.verify(idToken(), { signal })).resolves.toBeDefined();
  });

  const ec = testKey("k", "ES384");
  const rsa = testKey("k", "RS256");
  const ed = testKey("k", "EdDSA");
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey;
  const converted =
    (alg: string, jwk: unknown): KeyFunction =>
    async () =>
      createStaticKeySet({ keys: [{ ...(jwk as object), alg }] })({ alg, kid: "k" });
  const withExponent1 = createPublicKey({ key: { ...rsa.jwk, e: "AQ" }, format: "jwk" });
  const smallOrder = { kty: "OKP", crv: "Ed25519", x: Buffer.from([1, ...new Uint8Array(31)]).toString("base64url") };
  const imported =
    (
      jwk: JsonWebKey,
      algorithm: webcrypto.EcKeyImportParams | { readonly name: string },
      usages: webcrypto.KeyUsage[],
    ): KeyFunction =>
    async () =>
      webcrypto.subtle.importKey("jwk", jwk, algorithm, true, usages);
  it.each<[what: string, alg: "ES256" | "RS256" | "PS256" | "EdDSA", source: KeyFunction]>([
    ["a key on another curve for ES256", "ES256", async () => ec.publicKey as never],
    ["an RSA key for ES256", "ES256", converted("RS256", rsa.jwk)],
    ["a P-256 key for RS256", "RS256", async () => key.publicKey as never],
    ["a CryptoKey for PS256 for RS256", "RS256", converted("PS256", rsa.jwk)],
    ["a CryptoKey for RS512 for RS256", "RS256", converted("RS512", rsa.jwk)],
    ["an RSA key of 1024 bits", "PS256", async () => weak as never],
    ["a private key", "ES256", async () => key.privateKey as never],
    [
      "a key for key agreement",
      "ES256",
      imported(key.publicKey.export({ format: "jwk" }), { name: "ECDH", namedCurve: "P-256" }, []),
    ],
    [
      "a key that must not verify",
      "ES256",
      imported(key.publicKey.export({ format: "jwk" }), { name: "ECDSA", namedCurve: "P-256" }, []),
    ],
    ["an RSA key whose exponent is 1", "RS256", async () => withExponent1 as never],
    ["an Ed25519 key of small order", "EdDSA", imported(smallOrder, { name: "Ed25519" }, ["verify"])],
  ])("that returns %s is refused", async (_what, alg, source) => {
    const token = await new SignJWT(ID_CLAIMS)
      .setProtectedHeader({ alg, kid: "k" })
      .sign({ ES256: key, EdDSA: ed, RS256: rsa, PS256: rsa }[alg].privateKey);
    await expect(idTokens({ keys: source, algorithms: [alg] }).verify(token)).rejects.toMatchObject({
      name: "KeySetError",
      code: "no_suitable_key",
    });
  });

  it.each([[undefined], [null], ["key"], [new Uint8Array(32)], [{}]])(
    "that returns %o is a mistake of the caller",
    async (result) => {
      await expect(idTokens({ keys: async () => result as never }).verify(idToken())).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "keys",
      });
    },
  );
});
