import { verify, X509Certificate } from "node:crypto";
import { runInNewContext } from "node:vm";
import { compactVerify } from "jose";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  ConfigurationError,
  createInputSigner,
  createKeySet,
  createRotationSchedule,
  guardSigner,
  type InputSigner,
  type KeySet,
  type Signer,
  SignerError,
} from "@signpost/core";
import { followKeys } from "@signpost/core/adapter";
import { certificateOf as issueCertificate } from "@signpost/test-backends/self-signed";
import { failure } from "../support/failure.ts";
import { answers, fails, type ScriptedSigner, scriptedSigner, signs } from "../support/scripted-signer.ts";

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const inputOf = (header: object, payload: unknown = { sub: "a" }): string => `${part(header)}.${part(payload)}`;

let old: ScriptedSigner;
let next: ScriptedSigner;
let current: KeySet;
let own: InputSigner;

const before = (): KeySet => createKeySet([{ keyId: "old", signer: old.signer }]);
const retiring = (): KeySet =>
  createKeySet([
    { keyId: "next", signer: next.signer },
    { keyId: "old", publicKey: old.signer.publicKey },
  ]);
const withdrawn = (): KeySet => createKeySet([{ keyId: "next", signer: next.signer }]);

beforeEach(() => {
  old = scriptedSigner(signs);
  next = scriptedSigner(signs);
  current = before();
  own = createInputSigner(() => current);
});

async function verified(input: string, { publicKey }: ScriptedSigner): Promise<unknown> {
  const signature = Buffer.from(await own.sign(input)).toString("base64url");
  const { payload } = await compactVerify(`${input}.${signature}`, publicKey);
  return JSON.parse(new TextDecoder().decode(payload));
}

describe("a signer without a guard that never answers", () => {
  test.each<[string, (own: InputSigner) => Promise<Uint8Array>]>([
    ["sign", ({ sign }) => sign(inputOf({ alg: "ES256", kid: "dead" }))],
    ["signAs", ({ signAs }) => signAs("dead", new Uint8Array(1))],
  ])("ends each call of %s after a minute, and gets no more", async (_name, sign) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const asked = vi.fn<Signer["sign"]>(() => new Promise(() => {}));
    const hooked = createInputSigner([{ keyId: "dead", signer: { ...old.signer, sign: asked } }]);
    const codes: unknown[] = [];
    for (let count = 0; count < 16; count += 1) {
      void sign(hooked).catch((error: unknown) => codes.push(Reflect.get(Object(error), "code")));
    }
    await vi.advanceTimersByTimeAsync(60_000);
    expect(codes).toEqual(Array.from({ length: 16 }, () => "timeout"));
    expect(await failure(sign(hooked))).toMatchObject({ code: "unavailable" });
    expect(asked).toHaveBeenCalledTimes(16);
  });
});

describe("a signing input", () => {
  test("is signed with the key that its header names, as text or bytes", async () => {
    const input = inputOf({ alg: "ES256", kid: "old" });
    expect(await verified(input, old)).toEqual({ sub: "a" });
    const signature = await own.sign(Buffer.from(input));
    const key = { key: old.publicKey, dsaEncoding: "ieee-p1363" } as const;
    expect(verify("sha256", Buffer.from(input), key, signature)).toBe(true);
  });

  test("may have a payload that is no JSON", async () => {
    const input = `${part({ alg: "ES256", kid: "old" })}.${Buffer.from("text").toString("base64url")}`;
    expect(await own.sign(input)).toHaveLength(64);
  });

  test.each([
    ["another algorithm", { alg: "RS256", kid: "old" }, "header.alg"],
    ["no algorithm", { kid: "old" }, "header.alg"],
    ["no kid", { alg: "ES256" }, "header.kid"],
    ["a kid that is no text", { alg: "ES256", kid: 1 }, "header.kid"],
    ["a kid that is null", { alg: "ES256", kid: null, x5c: [] }, "header.kid"],
    ["no kid, and x5c without a certificate", { alg: "ES256", x5c: [] }, "header.x5c"],
    ["no kid, and no key as jwk", { alg: "ES256", jwk: "secret" }, "header.jwk"],
    ["the kid of a key that never signed", { alg: "ES256", kid: "next" }, "kid"],
    ["x5c without a certificate", { alg: "ES256", kid: "old", x5c: [] }, "header.x5c"],
    ["x5c of anything else", { alg: "ES256", kid: "old", x5c: "MIIB" }, "header.x5c"],
    ["no key as jwk", { alg: "ES256", kid: "old", jwk: "secret" }, "header.jwk"],
  ])("whose header has %s is refused before it is signed", async (_, header, argument) => {
    const error = await failure(own.sign(inputOf(header, { sub: "secret" })));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument });
    expect(String(error)).not.toContain("secret");
    expect(old.calls).toHaveLength(0);
  });

  test.each(["", ".", "text", `${part([])}.${part({})}`, `${part("text")}.${part({})}`])(
    "without a header is refused: %j",
    async (input) => {
      expect(await failure(own.sign(input))).toMatchObject({ argument: "header.alg" });
    },
  );

  test.each(["exp", "nbf", "iat"])("whose %s is text is refused", async (name) => {
    const input = inputOf({ alg: "ES256", kid: "old" }, { [name]: "2026-06-01T00:00:00Z" });
    expect(await failure(own.sign(input))).toMatchObject({ argument: `claims.${name}` });
    expect(old.calls).toHaveLength(0);
  });

  test.each<[string, (header: string, payload: string) => string]>([
    ["padding", (header, payload) => `${header}=.${payload}`],
    ["a line break", (header, payload) => `${header}\n.${payload}`],
    ["the standard alphabet", (header) => `${header}.+/+/`],
    ["a payload that is not encoded", (header) => `${header}.{"sub":"secret"}`],
    ["no payload", (header) => header],
    ["a third part", (header, payload) => `${header}.${payload}.${payload}`],
  ])("with %s is refused, since a verifier would refuse it", async (_, inputWith) => {
    const input = inputWith(part({ alg: "ES256", kid: "old" }), part({ sub: "a" }));
    const error = await failure(own.sign(input));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument: "signingInput" });
    expect(String(error)).not.toContain("secret");
    expect(old.calls).toHaveLength(0);
  });

  test("may have a payload that is not encoded, if the header says so", async () => {
    const header = part({ alg: "ES256", kid: "old", b64: false, crit: ["b64"] });
    expect(await own.sign(`${header}.$.02 é`)).toHaveLength(64);
    expect(await failure(own.sign(header))).toMatchObject({ argument: "signingInput" });
  });

  test.each([undefined, [], ["exp"], "b64"])(
    "is refused with b64: false and crit %j (RFC 7797 section 6)",
    async (crit) => {
      // For a verifier that does not know b64, these are the claims of another token.
      const input = `${part({ alg: "ES256", kid: "old", b64: false, crit })}.${part({ sub: "admin" })}`;
      expect(await failure(own.sign(input))).toMatchObject({ argument: "header.crit" });
      expect(old.calls).toHaveLength(0);
    },
  );

  test("may be bytes of another realm, and is signed as it was when it was given", async () => {
    const input = inputOf({ alg: "ES256", kid: "old" });
    const bytes = runInNewContext("(list) => Uint8Array.from(list)")([...Buffer.from(input)]) as Uint8Array;
    const signed = own.sign(bytes);
    bytes.fill(0);
    const key = { key: old.publicKey, dsaEncoding: "ieee-p1363" } as const;
    expect(verify("sha256", Buffer.from(input), key, await signed)).toBe(true);
  });

  test("that is neither text nor bytes is refused", async () => {
    expect(await failure(own.sign(1 as never))).toMatchObject({ argument: "signingInput" });
  });

  test("may have the public key of its kid in the header, and no other", async () => {
    const header = { alg: "ES256", kid: "old" };
    expect(await verified(inputOf({ ...header, jwk: old.signer.publicKey }), old)).toEqual({ sub: "a" });
    const other = inputOf({ ...header, jwk: next.signer.publicKey });
    expect(await failure(own.sign(other))).toMatchObject({ argument: "header.jwk" });
    expect(old.calls).toHaveLength(1);
  });

  test("with a private member in the public key of its header is refused, without its value", async () => {
    const jwk = { ...old.signer.publicKey, d: "secret" };
    const error = await failure(own.sign(inputOf({ alg: "ES256", kid: "old", jwk })));
    expect(error).toMatchObject({ argument: "header.jwk", message: expect.stringContaining('"d"') });
    expect(String(error)).not.toContain("secret");
    expect(old.calls).toHaveLength(0);
  });

  test.each<[string, (der: Buffer) => unknown[]]>([
    ["PEM", (der) => [Buffer.from(new X509Certificate(der).toString()).toString("base64")]],
    ["base64url", (der) => [der.toString("base64url")]],
    ["line breaks", (der) => [der.toString("base64").replaceAll(/.{64}/g, "$&\n")]],
    ["bytes after it", (der) => [Buffer.concat([der, Buffer.from([0])]).toString("base64")]],
    ["a list in it", (der) => [[der.toString("base64")]]],
    ["another entry that is no certificate", (der) => [der.toString("base64"), "MIIB"]],
  ])("whose x5c has a certificate with %s is refused, since a verifier would refuse it", async (_, x5cOf) => {
    const x5c = x5cOf(Buffer.from(certificateOf(old), "base64"));
    const error = await failure(own.sign(inputOf({ alg: "ES256", kid: "old", x5c })));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument: "header.x5c" });
    expect(old.calls).toHaveLength(0);
  });

  test("may have the certificate of its kid in the header, and no other", async () => {
    const header = { alg: "ES256", kid: "old" };
    expect(await verified(inputOf({ ...header, x5c: [certificateOf(old)] }), old)).toEqual({ sub: "a" });
    const other = inputOf({ ...header, x5c: [certificateOf(next), certificateOf(old)] });
    expect(await failure(own.sign(other))).toMatchObject({ argument: "header.x5c" });
    expect(old.calls).toHaveLength(1);
  });
});

describe("a header without a kid", () => {
  test.each<[string, (key: ScriptedSigner) => object]>([
    ["x5c", (key) => ({ x5c: [certificateOf(key)] })],
    ["jwk", (key) => ({ jwk: key.signer.publicKey })],
  ])("names its key by %s", async (member, membersOf) => {
    const input = inputOf({ alg: "ES256", ...membersOf(old) });
    expect(await verified(input, old)).toEqual({ sub: "a" });
    const other = inputOf({ alg: "ES256", ...membersOf(next) });
    expect(await failure(own.sign(other))).toMatchObject({ argument: `header.${member}` });

    current = retiring();
    expect(await verified(input, old)).toEqual({ sub: "a" });
    expect(await verified(other, next)).toEqual({ sub: "a" });

    current = withdrawn();
    expect(await failure(own.sign(input))).toMatchObject({ code: "unavailable", transient: true });
    expect([old.calls.length, next.calls.length]).toEqual([2, 1]);
  });

  test("needs the same key in both of them", async () => {
    const jwk = next.signer.publicKey;
    const error = await failure(own.sign(inputOf({ alg: "ES256", x5c: [certificateOf(old)], jwk })));
    expect(error).toMatchObject({ argument: "header.jwk" });
    expect(old.calls).toHaveLength(0);
  });
});

test.each([undefined, null, "", 1])("data for the kid %j is refused", async (kid) => {
  const error = await failure(own.signAs(kid as never, Buffer.from("data")));
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error).toMatchObject({ argument: "kid" });
});

describe("a rotation between header and signature", () => {
  test("signs with the previous key, while it is published", async () => {
    const { keyId } = own.key();
    const input = inputOf({ alg: "ES256", kid: keyId });
    current = retiring();
    expect(await verified(input, old)).toEqual({ sub: "a" });
    expect(own.key("old").keyId).toBe("old");
    expect(own.key().keyId).toBe("next");
    expect(await verified(inputOf({ alg: "ES256", kid: own.key().keyId }), next)).toEqual({ sub: "a" });
    expect(await own.signAs("old", Buffer.from("data"))).toHaveLength(64);
  });

  test("signs nothing with a key that was withdrawn", async () => {
    const input = inputOf({ alg: "ES256", kid: own.key().keyId });
    current = withdrawn();
    for (const error of [await failure(own.sign(input)), await failure(own.signAs("old", Buffer.from("data")))]) {
      expect(error).toBeInstanceOf(SignerError);
      expect(error).toMatchObject({ code: "unavailable", transient: true });
    }
    expect(() => own.key("old")).toThrow(SignerError);
    expect(old.calls).toHaveLength(0);
  });

  test("gives no signature of a key that was withdrawn while it signed", async () => {
    old = scriptedSigner(async (call) => {
      current = withdrawn();
      return call.sign();
    });
    current = before();
    own = createInputSigner(() => current);
    expect(await failure(own.signAs("old", Buffer.from("data")))).toMatchObject({ code: "unavailable" });
    expect(old.calls).toHaveLength(1);
  });

  test("says so instead of what the withdrawn key failed with", async () => {
    old = scriptedSigner(async () => {
      current = withdrawn();
      throw new SignerError("key_disabled", "gone");
    });
    current = before();
    own = createInputSigner(() => current);
    const named = { code: "key_disabled", message: "gone", uri: old.signer.uri };
    const error = await failure(own.signAs("old", Buffer.from("data")));
    expect(error).toHaveProperty("code", "unavailable");
    expect(error).toHaveProperty("cause", expect.objectContaining(named));
  });
});

describe("failures", () => {
  test("of the signer keep their code", async () => {
    old = scriptedSigner(fails(() => new SignerError("throttled", "too many calls")));
    current = before();
    own = createInputSigner(() => current);
    const error = await failure(own.sign(inputOf({ alg: "ES256", kid: "old" })));
    expect(error).toMatchObject({ code: "throttled", transient: true });
  });

  test("of the signer come before those of the source", async () => {
    let fails = false;
    const source = (): KeySet => {
      if (fails) throw new Error("the source fails");
      return current;
    };
    old = scriptedSigner(async () => {
      fails = true;
      throw new SignerError("throttled", "too many calls");
    });
    current = before();
    own = createInputSigner(source);
    expect(await failure(own.signAs("old", Buffer.from("data")))).toMatchObject({ code: "throttled" });
    expect(await failure(own.signAs("old", Buffer.from("data")))).toMatchObject({ message: "the source fails" });
    expect(() => createInputSigner(source)).toThrow("the source fails");
    expect(() => followKeys(source)).toThrow("the source fails");
  });

  test("a signature that does not verify is refused", async () => {
    old = scriptedSigner(answers(new Uint8Array(64).fill(1)));
    current = createKeySet([{ keyId: "old", signer: guardSigner(old.signer) }]);
    own = createInputSigner(() => current);
    expect(await failure(own.signAs("old", Buffer.from("data")))).toMatchObject({ code: "bad_signature" });
  });

  test.each([{ verify: "never" }, { verfy: "first" }])("an invalid option is refused: %j", (options) => {
    expect(() => createInputSigner(() => current, options as never)).toThrow(ConfigurationError);
  });
});

describe("with a schedule", () => {
  const now = Date.parse("2026-06-01T00:00:00Z");
  const exp = now / 1000 + 7200;

  beforeEach(() => {
    vi.useFakeTimers({ now });
    const since = "2026-01-01T00:00:00Z";
    const entry = { keyId: "old", signer: old.signer, announcedFrom: since, activeFrom: since };
    own = createInputSigner(createRotationSchedule([entry], { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0 }));
    return () => vi.useRealTimers();
  });

  test("a payload that expires after its key is withdrawn is refused, unless it has a certificate", async () => {
    const error = await failure(own.sign(inputOf({ alg: "ES256", kid: "old" }, { exp })));
    expect(error).toMatchObject({ argument: "claims.exp" });
    expect(old.calls).toHaveLength(0);
    const input = inputOf({ alg: "ES256", kid: "old", x5c: [certificateOf(old)] }, { exp });
    expect(await own.sign(input)).toHaveLength(64);
  });

  test("a key that was announced signs from its time on, and the one before it signs what it is in the header of", async () => {
    const since = "2026-01-01T00:00:00Z";
    const activeFrom = "2026-06-01T01:00:00Z";
    const entries = [
      { keyId: "old", signer: old.signer, announcedFrom: since, activeFrom: since },
      { keyId: "next", signer: next.signer, announcedFrom: since, activeFrom },
    ];
    own = createInputSigner(createRotationSchedule(entries, { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0 }));
    const input = inputOf({ alg: "ES256", kid: own.key().keyId });
    expect(() => own.key("next")).toThrow(ConfigurationError);
    vi.setSystemTime(Date.parse(activeFrom));
    expect(await verified(input, old)).toEqual({ sub: "a" });
    expect(await verified(inputOf({ alg: "ES256", kid: own.key().keyId }), next)).toEqual({ sub: "a" });
    // Once no token of the old key is valid, it is withdrawn.
    vi.setSystemTime(Date.parse(activeFrom) + 30 * 86_400_000);
    expect(await failure(own.sign(input))).toMatchObject({ code: "unavailable" });
  });

  test("a key that was replaced signs nothing that expires after it is withdrawn: the token starts again", async () => {
    const since = "2026-01-01T00:00:00Z";
    const activeFrom = "2026-06-01T01:00:00Z";
    const entries = [
      { keyId: "old", signer: old.signer, announcedFrom: since, activeFrom: since },
      { keyId: "next", signer: next.signer, announcedFrom: since, activeFrom },
    ];
    const replaced = Date.parse(activeFrom);
    own = createInputSigner(createRotationSchedule(entries, { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 60 }));
    const expiring = (after: number, members: object = {}): Promise<Uint8Array> =>
      own.sign(inputOf({ alg: "ES256", kid: "old", ...members }, { exp: replaced / 1000 + after }));
    // Just after the rotation, the whole lifetime is still possible.
    vi.setSystemTime(replaced + 30_000);
    expect(await expiring(30 + 3600)).toHaveLength(64);
    vi.setSystemTime(replaced + 600_000);
    expect(await expiring(60 + 3600)).toHaveLength(64);
    const error = await failure(expiring(600 + 3600));
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code: "unavailable", transient: true });
    expect(old.calls).toHaveLength(2);
    expect(await expiring(600 + 3600, { x5c: [certificateOf(old)] })).toHaveLength(64);
  });
});

/** In the form of a header (RFC 7515 section 4.1.6): base64 of the DER. */
function certificateOf({ publicKey }: ScriptedSigner): string {
  return new X509Certificate(issueCertificate(publicKey, ["issuer.example"])).raw.toString("base64");
}
