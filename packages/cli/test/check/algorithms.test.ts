import { describe, expect, test } from "vitest";
import { algorithmFits, isForKeys, maySignWith, verifiesAlgorithm } from "../../src/check/algorithms.ts";

// Which algorithm goes with which key (RFC 7518, RFC 8037, RFC 8812, RFC 9864).

const RSA = { kty: "RSA" };
const ec = (crv: string) => ({ kty: "EC", crv });
const okp = (crv: string) => ({ kty: "OKP", crv });
const KEYS = [
  RSA,
  ...["P-256", "P-384", "P-521", "secp256k1"].map(ec),
  ...["Ed25519", "Ed448", "X25519", "X448"].map(okp),
];
const nameOf = ({ kty, crv }: { readonly kty: string; readonly crv?: string }): string => crv ?? kty;

const SIGNING: readonly (readonly [alg: string, keys: readonly string[]])[] = [
  ["RS256", ["RSA"]],
  ["RS384", ["RSA"]],
  ["RS512", ["RSA"]],
  ["PS256", ["RSA"]],
  ["PS384", ["RSA"]],
  ["PS512", ["RSA"]],
  ["ES256", ["P-256"]],
  ["ES384", ["P-384"]],
  ["ES512", ["P-521"]],
  ["ES256K", ["secp256k1"]],
  ["EdDSA", ["Ed25519", "Ed448"]],
  ["Ed25519", ["Ed25519"]],
  ["Ed448", ["Ed448"]],
];
const AGREEING = ["P-256", "P-384", "P-521", "X25519", "X448"];
const ENCRYPTING: readonly (readonly [alg: string, keys: readonly string[]])[] = [
  ["RSA1_5", ["RSA"]],
  ["RSA-OAEP", ["RSA"]],
  ["RSA-OAEP-256", ["RSA"]],
  ["RSA-OAEP-384", ["RSA"]],
  ["RSA-OAEP-512", ["RSA"]],
  ["ECDH-ES", AGREEING],
  ["ECDH-ES+A128KW", AGREEING],
  ["ECDH-ES+A192KW", AGREEING],
  ["ECDH-ES+A256KW", AGREEING],
];

test.each([...SIGNING, ...ENCRYPTING])("%s goes with %j", (alg, keys) => {
  const fitting = KEYS.filter((key) => algorithmFits(alg, key, undefined) === "fits");
  expect(fitting.map(nameOf)).toEqual(keys);
  const others = KEYS.filter((key) => !keys.includes(nameOf(key)));
  expect(new Set(others.map((key) => algorithmFits(alg, key, "sig")))).toEqual(new Set(["other-key"]));
});

describe("the use of a key", () => {
  test.each(SIGNING)("that %s goes with is to sign", (alg, [name]) => {
    const key = KEYS.find((each) => nameOf(each) === name) ?? RSA;
    expect(["sig", "enc", "other", 7].map((use) => algorithmFits(alg, key, use))).toEqual([
      "fits",
      "other-use",
      "fits",
      "fits",
    ]);
    expect([isForKeys(alg), maySignWith(alg, key)]).toEqual([false, true]);
  });

  test.each(ENCRYPTING)("that %s goes with is to encrypt", (alg, [name]) => {
    const key = KEYS.find((each) => nameOf(each) === name) ?? RSA;
    expect(["sig", "enc"].map((use) => algorithmFits(alg, key, use))).toEqual(["other-use", "fits"]);
    expect([isForKeys(alg), maySignWith(alg, key), verifiesAlgorithm(alg, key)]).toEqual([true, false, undefined]);
  });
});

test.each(["none", "HS256", "HS1024", "dir", "A128KW", "A256GCMKW", "PBES2-HS256+A128KW"])(
  "%s has no public key",
  (alg) => {
    expect(algorithmFits(alg, RSA, undefined)).toBe("other-key");
    expect(maySignWith(alg, RSA)).toBe(false);
  },
);

test.each(["ML-DSA-44", "xnone", "nonex", "HS", "dirx", "AKW", "A128GCM", "es256", ""])(
  "%j is not known, and may be one that signs",
  (alg) => {
    expect(algorithmFits(alg, RSA, "sig")).toBe("unknown");
    expect([maySignWith(alg, RSA), isForKeys(alg), verifiesAlgorithm(alg, RSA)]).toEqual([true, false, undefined]);
  },
);

test("a key without a curve is not told from the right one", () => {
  expect(algorithmFits("ES256", { kty: "EC" }, "sig")).toBe("fits");
  expect(algorithmFits("ES256", { kty: "EC", crv: 7 }, "sig")).toBe("fits");
});

test.each<[members: object, verifies: boolean]>([
  [{}, true],
  [{ use: "sig" }, true],
  [{ alg: "ES256" }, true],
  [{ use: "enc" }, false],
  [{ alg: "ES384" }, false],
  [{ crv: "P-384" }, false],
  [{ kty: "RSA" }, false],
])("a P-256 key with %j can verify ES256: %s", (members, verifies) => {
  expect(verifiesAlgorithm("ES256", { ...ec("P-256"), ...members })).toBe(verifies);
});
