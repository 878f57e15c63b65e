import { createHmac, createPublicKey, sign } from "node:crypto";
import { createStaticKeySet, JWT_ALGORITHMS } from "@signpost/verify";
import type { JwtAlgorithm, KeyFunction } from "@signpost/verify";
import { CompactSign } from "jose";
import { describe, expect, it, vi } from "vitest";
import { accessToken, accessTokens, ID_CLAIMS, idToken, idTokens, key, keys } from "../support/jwt.ts";
import { testKey } from "../support/keys.ts";
import { encoded, es256, es256Der, ps256, rawJws } from "../support/raw-jws.ts";

// RFC 8725: what is refused before the claims are read.

type Header = Readonly<Record<string, unknown>>;
const stranger = testKey("k");

describe("the header", () => {
  it.each<[what: string, header: Header, code: string, claim: string]>([
    ["alg none", { alg: "none" }, "alg_not_allowed", "alg"],
    ["alg NONE", { alg: "NONE" }, "alg_not_allowed", "alg"],
    ["no alg", { alg: undefined }, "alg_not_allowed", "alg"],
    ["alg as a list", { alg: ["ES256"] }, "alg_not_allowed", "alg"],
    ["alg es256", { alg: "es256" }, "alg_not_allowed", "alg"],
    ["alg HS256", { alg: "HS256" }, "alg_not_allowed", "alg"],
    ["alg RS256, which is not in the list", { alg: "RS256" }, "alg_not_allowed", "alg"],
    ["alg ES256K", { alg: "ES256K" }, "alg_not_allowed", "alg"],
    ["alg __proto__", { alg: "__proto__" }, "alg_not_allowed", "alg"],
    ["crit", { crit: ["exp"], exp: 1 }, "unsupported_header", "crit"],
    ["an empty crit", { crit: [] }, "unsupported_header", "crit"],
    ["b64", { b64: true }, "unsupported_header", "b64"],
    ["kid as a number", { kid: 1 }, "malformed_jwt", "kid"],
    ["kid null", { kid: null }, "malformed_jwt", "kid"],
    ["typ of an access token", { typ: "at+jwt" }, "invalid_typ", "typ"],
    ["typ of a logout token", { typ: "logout+jwt" }, "invalid_typ", "typ"],
    ["typ of an event", { typ: "secevent+jwt" }, "invalid_typ", "typ"],
    ["typ as a number", { typ: 1 }, "invalid_typ", "typ"],
  ])("of an ID token with %s is refused before a key is looked up", async (_what, header, code, claim) => {
    const lookUp = vi.fn<KeyFunction>((given) => keys(given));
    const refused = idTokens({ keys: lookUp }).verify(idToken({}, header));
    await expect(refused).rejects.toMatchObject({ name: "TokenError", code, claim });
    expect(lookUp).not.toHaveBeenCalled();
  });

  it.each<[what: string, header: Header, code: string]>([
    ["no kid", { kid: undefined }, "missing_kid"],
    ["an empty kid", { kid: "" }, "missing_kid"],
    ["an unknown kid", { kid: "K" }, "unknown_kid"],
  ])("with %s finds no key", async (_what, header, code) => {
    await expect(idTokens().verify(idToken({}, header))).rejects.toMatchObject({ name: "KeySetError", code });
  });

  it.each([[undefined], ["JWT"], ["jwt"], ["application/jwt"]])("of an ID token may have the typ %j", async (typ) => {
    await expect(idTokens().verify(idToken({}, { typ }))).resolves.toBeDefined();
  });

  it.each([
    ["at+jwt", true],
    ["AT+JWT", true],
    ["application/at+jwt", true],
    [undefined, false],
    ["JWT", false],
    ["at+jwt;a=b", false],
  ])("of an access token has the typ %j: %s", async (typ, accepted) => {
    const verified = accessTokens().verify(accessToken({}, { typ }));
    if (accepted) await expect(verified).resolves.toBeDefined();
    else await expect(verified).rejects.toMatchObject({ code: "invalid_typ" });
  });

  it("never brings its own key", async () => {
    const publicJwk = createPublicKey(stranger.privateKey).export({ format: "jwk" });
    const header = {
      alg: "ES256",
      kid: "k",
      jwk: publicJwk,
      jku: "https://evil.example/jwks",
      x5u: "https://evil.example/x5u",
      x5c: ["MIIB"],
    };
    const forged = rawJws(header, ID_CLAIMS, es256(stranger.privateKey));
    await expect(idTokens().verify(forged)).rejects.toMatchObject({ code: "bad_signature" });
    const seen = vi.fn<KeyFunction>((given) => keys(given));
    await expect(idTokens({ keys: seen }).verify(idToken({}, header))).resolves.toBeDefined();
    expect(seen.mock.calls).toEqual([[{ alg: "ES256", kid: "k" }]]);
  });
});

describe("the header of an earlier token", () => {
  it("is frozen for all, however it is nested", async () => {
    const verifier = idTokens();
    const token = idToken({}, { x: { y: [{ z: 1 }] } });
    for (let time = 0; time < 3; time += 1) {
      const { header } = await verifier.verify(token);
      expect(header).toEqual({ alg: "ES256", kid: "k", x: { y: [{ z: 1 }] } });
      expect(() => Object.assign((header["x"] as { y: object[] }).y[0] ?? {}, { z: 2 })).toThrow(TypeError);
      expect(() => Object.assign(header, { alg: "none" })).toThrow(TypeError);
    }
  });

  it("is not that of a forged one, and does not replace the checks of the next token", async () => {
    const verifier = idTokens();
    const [header = "", payload = ""] = idToken().split(".");
    for (const token of [
      `${header}.${payload}.${"A".repeat(86)}`,
      idToken(),
      `${header}.${payload}.${"A".repeat(86)}`,
    ]) {
      const outcome = verifier.verify(token);
      if (token.endsWith("AAAA")) await expect(outcome).rejects.toMatchObject({ code: "bad_signature" });
      else await expect(outcome).resolves.toBeDefined();
    }
    await expect(verifier.verify(`${header}.${payload}`)).rejects.toMatchObject({ code: "malformed_jwt" });
    await expect(verifier.verify(`${header}..${payload}`)).rejects.toMatchObject({ code: "malformed_jwt" });
  });

  it("may be of any length, and of more keys than are remembered", async () => {
    const verifier = idTokens();
    for (const x of ["a".repeat(1000), ...Array.from({ length: 40 }, (_, index) => `${index}`)]) {
      for (let time = 0; time < 2; time += 1)
        await expect(verifier.verify(idToken({}, { x }))).resolves.toMatchObject({ header: { x } });
    }
  });
});

describe("the signature", () => {
  const flipped = (token: string, index: number): string => {
    const [header, payload, signature = ""] = token.split(".");
    const bytes = Buffer.from(signature, "base64url");
    bytes.writeUInt8(bytes.readUInt8(index) ^ 1, index);
    return `${header}.${payload}.${bytes.toString("base64url")}`;
  };

  it.each<[what: string, token: () => string]>([
    ["of another key", () => rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, es256(stranger.privateKey))],
    ["with a bit of r flipped", () => flipped(idToken(), 0)],
    ["with a bit of s flipped", () => flipped(idToken(), 63)],
    ["in DER", () => rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, es256Der(key.privateKey))],
    ["of zeros", () => rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, () => new Uint8Array(64))],
    [
      "of 63 bytes",
      () => rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, (input) => es256(key.privateKey)(input).subarray(1)),
    ],
    ["of no bytes", () => rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, () => new Uint8Array())],
    ["of another payload", () => idToken().replace(/\.[^.]+\./, `.${encoded({ ...ID_CLAIMS, sub: "admin" })}.`)],
    [
      "by HMAC with the public key as the secret",
      () =>
        rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, (input) =>
          createHmac("sha512", JSON.stringify(key.jwk)).update(input).digest(),
        ),
    ],
  ])("%s is refused, alone and among many", async (_what, token) => {
    const verifier = idTokens();
    await expect(verifier.verify(token())).rejects.toMatchObject({ name: "TokenError", code: "bad_signature" });
    const results = await Promise.allSettled(
      Array.from({ length: 16 }, (_, index) => verifier.verify(index % 2 === 0 ? token() : idToken())),
    );
    const outcomes = results.map((result) =>
      result.status === "fulfilled" ? "verified" : (result.reason as { code: string }).code,
    );
    expect(outcomes).toEqual(
      Array.from({ length: 16 }, (_, index) => (index % 2 === 0 ? "bad_signature" : "verified")),
    );
  });

  it.each([
    [63, (input: Buffer) => es256(key.privateKey)(input).subarray(1)],
    [70, (input: Buffer) => Buffer.concat([es256(key.privateKey)(input), Buffer.alloc(6)])],
  ])("of %d bytes never reaches the cryptography", async (_bytes, sign) => {
    const token = rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, sign);
    await expect(idTokens().verify(token)).rejects.toThrow("expected a signature of 64 bytes");
  });

  it("verifies a thousand at once", async () => {
    const verifier = accessTokens();
    const tokens = Array.from({ length: 1000 }, (_, index) => accessToken({ jti: `${index}` }));
    const verified = await Promise.all(tokens.map((token) => verifier.verify(token)));
    expect(verified.map(({ claims }) => claims.jti)).toEqual(tokens.map((_, index) => `${index}`));
  });

  const MAKERS = {
    ES256: "ES256",
    ES384: "ES384",
    ES512: "ES512",
    Ed25519: "EdDSA",
    EdDSA: "EdDSA",
    PS256: "PS256",
    PS384: "PS256",
    PS512: "PS256",
    RS256: "RS256",
    RS384: "RS256",
    RS512: "RS256",
  } as const satisfies Record<JwtAlgorithm, string>;

  it.each(JWT_ALGORITHMS)("by %s of jose is accepted only if the algorithm is in the list", async (alg) => {
    const signer = testKey("other", MAKERS[alg]);
    const set = createStaticKeySet({ keys: [{ ...signer.jwk, alg: undefined }] });
    const token = await new CompactSign(Buffer.from(JSON.stringify(ID_CLAIMS)))
      .setProtectedHeader({ alg, kid: "other" })
      .sign(signer.privateKey);
    await expect(idTokens({ keys: set, algorithms: [alg] }).verify(token)).resolves.toMatchObject({
      claims: ID_CLAIMS,
    });
    const others = JWT_ALGORITHMS.filter((other) => other !== alg);
    await expect(idTokens({ keys: set, algorithms: others }).verify(token)).rejects.toMatchObject({
      code: "alg_not_allowed",
    });
  });

  it.each([0, 20, 31, 33, 222])(
    "by PS256 with a salt of %d bytes is refused (RFC 7518 section 3.5)",
    async (saltLength) => {
      const signer = testKey("ps", "PS256");
      const verifier = idTokens({ keys: createStaticKeySet({ keys: [signer.jwk] }), algorithms: ["PS256"] });
      const token = (length: number): string =>
        rawJws({ alg: "PS256", kid: "ps" }, ID_CLAIMS, ps256(signer.privateKey, length));
      await expect(verifier.verify(token(32))).resolves.toBeDefined();
      await expect(verifier.verify(token(saltLength))).rejects.toMatchObject({ code: "bad_signature" });
    },
  );

  it("by one padding of RSA is never accepted as the other", async () => {
    const signer = testKey("rsa", "RS256");
    const set = createStaticKeySet({ keys: [{ ...signer.jwk, alg: undefined }] });
    const verifier = idTokens({ keys: set, algorithms: ["RS256", "PS256"] });
    const pkcs1 = (input: Buffer): Uint8Array => sign("sha256", input, signer.privateKey);
    await expect(verifier.verify(rawJws({ alg: "RS256", kid: "rsa" }, ID_CLAIMS, pkcs1))).resolves.toBeDefined();
    await expect(verifier.verify(rawJws({ alg: "PS256", kid: "rsa" }, ID_CLAIMS, pkcs1))).rejects.toMatchObject({
      code: "bad_signature",
    });
  });
});

describe("the form", () => {
  const good = idToken();
  const [header = "", payload = "", signature = ""] = good.split(".");
  it.each<[what: string, token: unknown]>([
    ["an empty string", ""],
    ["undefined", undefined],
    ["bytes", Buffer.from(good)],
    ["two parts", `${header}.${payload}`],
    ["four parts", `${good}.`],
    ["five parts, as an encrypted token", `${good}.a.b`],
    ["padding", `${header}=.${payload}.${signature}`],
    ["a space", ` ${good}`],
    ["a line break at the end", `${good}\n`],
    ["the standard alphabet", `${header}.${payload}.${"+/".repeat(43)}`],
    ["spare bits", `${header}.${payload}.${signature.slice(0, -1)}${signature.endsWith("A") ? "B" : "_"}`],
    ["a header that is a list", rawJws([], ID_CLAIMS, es256(key.privateKey))],
    ["claims that are text", rawJws({ alg: "ES256", kid: "k" }, '"text"', es256(key.privateKey))],
    ["claims that are not JSON", rawJws({ alg: "ES256", kid: "k" }, "{", es256(key.privateKey))],
    [
      "claims that are not UTF-8",
      `${header}.${Buffer.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d).toString("base64url")}.${signature}`,
    ],
    ["more than 65,536 characters", idToken({ padding: "a".repeat(50_000) })],
  ])("with %s is refused", async (_what, token) => {
    await expect(idTokens().verify(token as string)).rejects.toMatchObject({
      name: "TokenError",
      code: "malformed_jwt",
    });
  });

  it("of a member that is there twice counts with its last value, and a lone surrogate is text", async () => {
    const json = JSON.stringify(ID_CLAIMS).replace("{", '{"sub":"first","name":"\\ud800",');
    const token = rawJws({ alg: "ES256", kid: "k" }, json, es256(key.privateKey));
    await expect(idTokens().verify(token)).resolves.toMatchObject({ claims: { sub: "s", name: "\ud800" } });
  });
});

it("no error contains a claim's value", async () => {
  const secrets = {
    nonce: "secret-nonce",
    sub: "secret-sub",
    aud: "secret-aud",
    azp: "secret-azp",
    iss: "secret-iss",
    at_hash: "secret-hash",
  };
  for (const [claim, value] of Object.entries(secrets)) {
    const token = idToken({ [claim]: value });
    const refused = idTokens().verify(token, { nonce: "expected-nonce", accessToken: "expected-token" });
    const error = await refused.then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    expect(`${error?.message} ${error?.stack}`).not.toMatch(/secret-|expected-/);
  }
});
