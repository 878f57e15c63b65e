import { createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject, X509Certificate } from "node:crypto";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { describe, expect, it } from "vitest";
import { createStaticKeySet } from "@signpost/verify";
import { parseJwk } from "../../src/jwk/parse-jwk.ts";

const keys = {
  "P-256": generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey,
  "P-384": generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey,
  "P-521": generateKeyPairSync("ec", { namedCurve: "P-521" }).publicKey,
  RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey,
  Ed25519: generateKeyPairSync("ed25519").publicKey,
} as const;
const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;

const jwkOf = (key: KeyObject): JsonWebKey => ({ ...key.export({ format: "jwk" }), kid: "k" });
const derOf = (key: KeyObject): Buffer => new X509Certificate(certificateOf(key, ["op.example"])).raw;
const x5cOf = (key: KeyObject): string[] => [derOf(key).toString("base64")];

function reasonOf(entry: object): string | undefined {
  const parsed = parseJwk(JSON.parse(JSON.stringify(entry)));
  return "reason" in parsed ? parsed.reason : undefined;
}

describe("an entry with x5c", () => {
  it.each(Object.entries(keys))("is taken if its first certificate is of its %s key", (_, key) => {
    expect(reasonOf({ ...jwkOf(key), x5c: x5cOf(key) })).toBeUndefined();
  });

  it.each(Object.entries(keys))("is left out if the certificate is of another key than its %s key", (_, key) => {
    expect(reasonOf({ ...jwkOf(key), x5c: x5cOf(other) })).toBe("wrong_certificate");
  });

  it("is judged by the first certificate alone", () => {
    const key = keys["P-256"];
    expect(reasonOf({ ...jwkOf(key), x5c: [...x5cOf(key), ...x5cOf(other), "no certificate"] })).toBeUndefined();
    expect(reasonOf({ ...jwkOf(key), x5c: [...x5cOf(other), ...x5cOf(key)] })).toBe("wrong_certificate");
  });

  it("is judged by its key, whatever zero byte is before the modulus", () => {
    const jwk = jwkOf(keys.RSA);
    const n = Buffer.concat([Buffer.of(0), Buffer.from(jwk.n ?? "", "base64url")]).toString("base64url");
    expect(reasonOf({ ...jwk, n, x5c: x5cOf(keys.RSA) })).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["an empty list", []],
    ["a text in place of a list", x5cOf(other)[0]],
    ["a number", 7],
    ["a list of numbers", [7]],
    ["text that is not base64", ["?"]],
    ["bytes that are no certificate", ["AAAA"]],
    [
      "a bare public key, which some servers publish",
      [other.export({ type: "spki", format: "der" }).toString("base64")],
    ],
    ["half a certificate", [derOf(other).subarray(0, 100).toString("base64")]],
  ])("is taken by its other members if x5c is %s", (_, x5c) => {
    expect(reasonOf({ ...jwkOf(keys["P-256"]), x5c })).toBeUndefined();
  });

  it("is not made usable by a certificate: a key comes from its own members", () => {
    const { x: _, ...withoutX } = jwkOf(keys["P-256"]);
    expect(reasonOf({ ...withoutX, x5c: x5cOf(keys["P-256"]) })).toBe("malformed");
  });

  it("is not judged by who issued the certificate, or when it ends", () => {
    const key = keys["P-256"];
    const expired = new X509Certificate(certificateOf(key, ["op.example"], undefined, undefined, -1)).raw.toString(
      "base64",
    );
    expect(reasonOf({ ...jwkOf(key), x5c: [expired] })).toBeUndefined();
  });

  it("tells its kid why it was left out", async () => {
    const [good, bad] = [jwkOf(keys["P-256"]), { ...jwkOf(other), kid: "bad", x5c: x5cOf(keys["P-256"]) }];
    const find = createStaticKeySet({ keys: [good, bad] });
    await expect(find({ alg: "ES256", kid: "bad" })).rejects.toMatchObject({
      code: "key_left_out",
      message: expect.stringContaining(
        'wrong_certificate (the first certificate in the member "x5c" is of another key)',
      ),
    });
    expect(find.dropped).toEqual({ wrong_certificate: 1 });
    await find({ alg: "ES256", kid: "k" });
    // An entry without a kid may be the one that the token meant.
    const nameless = createStaticKeySet({ keys: [good, { ...bad, kid: undefined }] });
    await expect(nameless({ alg: "ES256", kid: "bad" })).rejects.toMatchObject({
      code: "unknown_kid",
      message: expect.stringContaining("wrong_certificate"),
    });
  });
});

it("a certificate in PEM, whose base64 has line breaks, is read too", () => {
  const body = certificateOf(other, ["op.example"]).replaceAll(/-----[^-]+-----/g, "");
  expect(
    reasonOf({ ...jwkOf(createPublicKey(keys["P-256"].export({ type: "spki", format: "pem" }))), x5c: [body] }),
  ).toBe("wrong_certificate");
});
