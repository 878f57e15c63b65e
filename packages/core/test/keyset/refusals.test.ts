import { describe, expect, test } from "vitest";
import { ConfigurationError, createKeySet, type KeySet, serializeJwks } from "@signpost/core";
import {
  GOLDEN_JWK,
  goldenSet,
  newEcKey,
  newOkpKey,
  newP256Jwk,
  newRsaKey,
  publishingSigner,
  thrownBy,
} from "../support/key-fixtures.ts";

// Callers in JavaScript can pass anything, so the tables do too.
const make = createKeySet as (entries: unknown, options?: unknown) => KeySet;

const good = { keyId: "good", signer: publishingSigner() };
const P256 = newEcKey("P-256");
const P384 = newEcKey("P-384");
const SECP256K1 = newEcKey("secp256k1");
const RSA = newRsaKey(2048);
const SMALL_RSA = newRsaKey(1024);
const ED25519 = newOkpKey("ed25519");
const X25519 = newOkpKey("x25519");

type Row = readonly [what: string, argument: string, message: RegExp, entries: unknown, options?: unknown];

function refuses(rows: readonly Row[]): void {
  test.for(rows)("%s", ([, argument, message, entries, options]) => {
    const error = thrownBy(() => make(entries, options));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument, message: expect.stringMatching(message) as string });
  });
}

test("the entries that the tables vary are accepted as they are", () => {
  const options = {
    encryptionKeyset: [{ publicKey: P384.jwk }],
    legacyVerificationKeys: [{ publicKey: RSA.jwk, alg: "RS256" }],
  };
  expect(make([good, { keyId: "old", publicKey: P256.jwk }], options).keys).toHaveLength(4);
});

describe("the list of entries is refused when it is", () => {
  refuses([
    ["empty", "entries", /at least one/, []],
    ["absent", "entries", /array/, undefined],
    ["no array", "entries", /array/, { 0: good, length: 1 }],
    ["sparse", "entries[1]", /object/, Object.assign(Array.from({ length: 2 }), { 0: good })],
    ["a list with null", "entries[1]", /object/, [good, null]],
    ["without a signer in the first entry", "entries[0]", /signer.*first/, [{ keyId: "a", publicKey: P256.jwk }]],
    ["repeating a keyId", "entries", /"good" twice/, [good, { keyId: "good", publicKey: P256.jwk }]],
    ["repeating a thumbprint by default", "entries", /twice/, [{ signer: good.signer }, { publicKey: GOLDEN_JWK }]],
    [
      "repeating a keyId in encryptionKeyset",
      "entries",
      /twice/,
      [good],
      { encryptionKeyset: [{ keyId: "good", publicKey: RSA.jwk }] },
    ],
    [
      "repeating a keyId in legacyVerificationKeys",
      "entries",
      /twice/,
      [good],
      { legacyVerificationKeys: [{ keyId: "good", publicKey: RSA.jwk, alg: "RS256" }] },
    ],
    [
      "repeating a thumbprint between legacy and encryption keys",
      "entries",
      /twice/,
      [good],
      { legacyVerificationKeys: [{ publicKey: RSA.jwk, alg: "RS256" }], encryptionKeyset: [{ publicKey: RSA.jwk }] },
    ],
  ]);
});

test("a keyId has up to 256 characters", () => {
  expect(make([{ ...good, keyId: "x".repeat(256) }]).active.keyId).toHaveLength(256);
});

test.each([
  ["x".repeat(257), "257 characters"],
  ["a\uD83D", "a lone surrogate"],
  ["", "an empty string"],
  [7, "7"],
])("a keyId that is refused is described, and a text is not repeated", (keyId, words) => {
  expect(thrownBy(() => make([{ ...good, keyId } as never]))).toMatchObject({
    message: expect.stringMatching(new RegExp(`without lone surrogates, got ${words}$`)),
  });
});

describe("a keyId is refused when it is", () => {
  const values: readonly (readonly [string, unknown])[] = [
    ["empty", ""],
    ["a number", 7],
    ["null", null],
    ["a String object", Object("text")],
    ["longer than 256 characters", "x".repeat(257)],
    ["a lone high surrogate", "a\uD83D"],
    ["a lone low surrogate", "\uDD11b"],
    ["two surrogates in the wrong order", "\uDD11\uD83D"],
  ];
  const message = /1 to 256 characters/;
  refuses(
    values.flatMap(([what, keyId]): Row[] => [
      [`${what}, of a signing key`, "entries[0].keyId", message, [{ ...good, keyId }]],
      [`${what}, of a retiring key`, "entries[1].keyId", message, [good, { keyId, publicKey: P256.jwk }]],
      [
        `${what}, of an encryption key`,
        "encryptionKeyset[0].keyId",
        message,
        [good],
        { encryptionKeyset: [{ keyId, publicKey: RSA.jwk }] },
      ],
    ]),
  );
});

describe("a signing entry is refused with", () => {
  refuses([
    ["neither signer nor publicKey", "entries[0]", /got neither$/, [{ keyId: "a" }]],
    ["both", "entries[0]", /got both$/, [{ ...good, publicKey: GOLDEN_JWK }]],
    ["a signer without sign", "entries[0].signer", /signer/, [{ signer: { publicKey: GOLDEN_JWK } }]],
    ["a signer without a public key", "entries[0].signer", /signer/, [{ signer: { sign: good.signer.sign } }]],
    [
      "a signer whose public key is null",
      "entries[0].signer.publicKey",
      /JWK/,
      [{ signer: { ...good.signer, publicKey: null } }],
    ],
    ["a signer that is a string", "entries[0].signer", /got a string; await/, [{ signer: "awskms:///alias/op" }]],
    [
      "a signer that is a promise",
      "entries[0].signer",
      /publicKey and sign, got a promise; await/,
      [{ signer: Promise.resolve(good.signer) }],
    ],
  ]);
});

describe("a P-256 key, of a signer or given, is refused with", () => {
  const { x, y } = GOLDEN_JWK;
  const zero = Buffer.alloc(32).toString("base64url");
  const resized = (bytes: number) =>
    Buffer.concat([Buffer.alloc(bytes), Buffer.from(x, "base64url")])
      .subarray(-bytes)
      .toString("base64url");
  const keys: readonly (readonly [string, unknown, RegExp])[] = [
    ["the curve P-384", P384.jwk, /P-256/],
    ["the curve secp256k1", SECP256K1.jwk, /curve/],
    ["a curve name in another case", { ...GOLDEN_JWK, crv: "p-256" }, /curve/],
    ["the type RSA", RSA.jwk, /P-256/],
    ["the type OKP", ED25519.jwk, /P-256/],
    ["the type oct", { kty: "oct", k: "AAAA" }, /public key/],
    ["no type", { crv: "P-256", x, y }, /kty/],
    ["no y", { kty: "EC", crv: "P-256", x }, /"y"/],
    ["a point off the curve", { ...GOLDEN_JWK, y: x }, /not on the curve/],
    ["the point 0, 0", { ...GOLDEN_JWK, x: zero, y: zero }, /not on the curve/],
    ["x of 31 bytes", { ...GOLDEN_JWK, x: resized(31) }, /31 bytes, expected 32/],
    ["x of 33 bytes", { ...GOLDEN_JWK, x: resized(33) }, /33 bytes, expected 32/],
    ["padding", { ...GOLDEN_JWK, x: `${x}=` }, /base64url/],
    ["the standard base64 alphabet", { ...GOLDEN_JWK, y: y.replaceAll("_", "/").replaceAll("-", "+") }, /base64url/],
    ["a line break", { ...GOLDEN_JWK, x: `${x.slice(0, 20)}\n${x.slice(20)}` }, /base64url/],
    ["trailing bits that are not zero", { ...GOLDEN_JWK, x: `${x.slice(0, -1)}V` }, /base64url/],
    ["x as bytes", { ...GOLDEN_JWK, x: Buffer.from(x, "base64url") }, /"x"/],
    ["a private member", P256.privateJwk, /private member "d"/],
    ...["p", "q", "dp", "dq", "qi", "oth", "k", "priv"].map(
      (name) =>
        [
          `the private member ${name}`,
          { ...GOLDEN_JWK, [name]: "AAAA" },
          new RegExp(`private member "${name}"`),
        ] as const,
    ),
  ];
  refuses(
    keys.flatMap(([what, publicKey, message]): Row[] => [
      [`${what} (signer)`, "entries[0].signer.publicKey", message, [{ signer: { ...good.signer, publicKey } }]],
      [`${what} (publicKey)`, "entries[1].publicKey", message, [good, { publicKey }]],
    ]),
  );
});

describe("a key in PEM is refused when it is", () => {
  const certificate = P256.pem.replaceAll("PUBLIC KEY", "CERTIFICATE");
  const trailing = (pem: string) => {
    const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
    return `-----BEGIN PUBLIC KEY-----\n${Buffer.concat([der, Buffer.of(0)]).toString("base64")}\n-----END PUBLIC KEY-----\n`;
  };
  const retiring = (publicKey: unknown) => [good, { publicKey }];
  const encryption = (publicKey: unknown) => ({ encryptionKeyset: [{ publicKey }] });
  refuses([
    ["a private key", "entries[1].publicKey", /PUBLIC KEY/, retiring(P256.privatePem)],
    ["a private encryption key", "encryptionKeyset[0].publicKey", /PUBLIC KEY/, [good], encryption(RSA.privatePem)],
    ["a certificate", "entries[1].publicKey", /PUBLIC KEY/, retiring(certificate)],
    ["on another curve", "entries[1].publicKey", /P-256/, retiring(P384.pem)],
    ["an RSA key among the signing keys", "entries[1].publicKey", /id-ecPublicKey/, retiring(RSA.pem)],
    ["followed by a byte", "entries[1].publicKey", /DER/, retiring(trailing(P256.pem))],
    [
      "an encryption key followed by a byte",
      "encryptionKeyset[0].publicKey",
      /DER/,
      [good],
      encryption(trailing(RSA.pem)),
    ],
    [
      "an encryption key that is no key",
      "encryptionKeyset[0].publicKey",
      /SubjectPublicKeyInfo/,
      [good],
      encryption("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"),
    ],
    ["empty", "entries[1].publicKey", /PUBLIC KEY/, retiring("")],
  ]);
});

describe("an encryption key is refused with", () => {
  const row = (what: string, member: string, message: RegExp, key: unknown): Row => [
    what,
    `encryptionKeyset[0]${member}`,
    message,
    [good],
    { encryptionKeyset: [key] },
  ];
  const { n, e } = RSA.jwk;
  const even = Buffer.from(String(n), "base64url");
  even[even.length - 1] = (even.at(-1) ?? 0) & 0xfe;
  refuses([
    row("RSA of 1024 bits", ".publicKey", /1024 bits/, { publicKey: SMALL_RSA.jwk }),
    row("RSA of 1024 bits in PEM", ".publicKey", /1024 bits/, { publicKey: SMALL_RSA.pem }),
    row("RSA of 1024 bits behind zero bytes", ".publicKey", /zero byte/, {
      publicKey: {
        ...SMALL_RSA.jwk,
        n: Buffer.concat([Buffer.alloc(128), Buffer.from(String(SMALL_RSA.jwk["n"]), "base64url")]).toString(
          "base64url",
        ),
      },
    }),
    row("RSA of 2047 bits", ".publicKey", /2047 bits/, {
      publicKey: { kty: "RSA", e, n: Buffer.concat([Buffer.of(0x7f), Buffer.alloc(255, 0xff)]).toString("base64url") },
    }),
    row("RSA of 16385 bits", ".publicKey", /16385 bits/, {
      publicKey: { kty: "RSA", e, n: Buffer.concat([Buffer.of(1), Buffer.alloc(2048, 0xff)]).toString("base64url") },
    }),
    row("an even modulus", ".publicKey", /"n" is even/, { publicKey: { ...RSA.jwk, n: even.toString("base64url") } }),
    row("exponent 1", ".publicKey", /"e"/, { publicKey: { ...RSA.jwk, e: "AQ" } }),
    row("exponent 65536", ".publicKey", /"e"/, { publicKey: { ...RSA.jwk, e: "AQAA" } }),
    row("exponent with a leading zero byte", ".publicKey", /zero byte/, { publicKey: { ...RSA.jwk, e: "AAEAAQ" } }),
    row("a padded modulus", ".publicKey", /base64url/, { publicKey: { ...RSA.jwk, n: `${String(n)}=` } }),
    row("no exponent", ".publicKey", /"e"/, { publicKey: { kty: "RSA", n } }),
    row("RSA private members", ".publicKey", /private member/, { publicKey: RSA.privateJwk }),
    row("EC private members", ".publicKey", /private member/, { publicKey: P384.privateJwk }),
    row("the curve secp256k1", ".publicKey", /curve/, { publicKey: SECP256K1.jwk }),
    row("a P-384 point off the curve", ".publicKey", /not on the curve/, {
      publicKey: { ...P384.jwk, y: P384.jwk["x"] },
    }),
    row("P-384 coordinates of 32 bytes", ".publicKey", /expected 48/, { publicKey: { ...GOLDEN_JWK, crv: "P-384" } }),
    row("X25519", ".publicKey", /RSA or EC/, { publicKey: X25519.jwk }),
    row("a symmetric key", ".publicKey", /private member "k"/, { publicKey: { kty: "oct", k: "AAAA" } }),
    row("a signature algorithm", ".alg", /one of RSA-OAEP-256, .+ for a key of type RSA, got RS256$/, {
      publicKey: RSA.jwk,
      alg: "RS256",
    }),
    row("RSA1_5", ".alg", /RSA-OAEP-256/, { publicKey: RSA.jwk, alg: "RSA1_5" }),
    row("an EC algorithm for RSA", ".alg", /RSA-OAEP-256/, { publicKey: RSA.jwk, alg: "ECDH-ES" }),
    row("an RSA algorithm for EC", ".alg", /one of ECDH-ES, .+ for a key of type EC, got RSA-OAEP$/, {
      publicKey: P384.jwk,
      alg: "RSA-OAEP",
    }),
    row("an alg that is no string", ".alg", /ECDH-ES/, { publicKey: P384.jwk, alg: 1 }),
    row("an alg in a list", ".alg", /got an array$/, { publicKey: P384.jwk, alg: ["ES256"] }),
    row("an alg that is shown", ".alg", /got ES256$/, { publicKey: P384.jwk, alg: "ES256" }),
    row("an alg that is not shown", ".alg", /got a string$/, { publicKey: P384.jwk, alg: "xES256" }),
    row("another that is not shown", ".alg", /got a string$/, { publicKey: P384.jwk, alg: "ES256x" }),
    row("an alg that is null", ".alg", /ECDH-ES/, { publicKey: P384.jwk, alg: null }),
    row("an empty alg", ".alg", /ECDH-ES/, { publicKey: P384.jwk, alg: "" }),
    row("no public key", ".publicKey", /JWK/, { keyId: "enc" }),
    row("null in its place", "", /object/, null),
    [
      "an encryptionKeyset that is no array",
      "encryptionKeyset",
      /array/,
      [good],
      { encryptionKeyset: { publicKey: RSA.jwk } },
    ],
  ]);
});

describe("a legacy key is refused with", () => {
  const row = (what: string, member: string, message: RegExp, key: unknown): Row => [
    what,
    `legacyVerificationKeys[0]${member}`,
    message,
    [good],
    { legacyVerificationKeys: [key] },
  ];
  refuses([
    row("no alg", ".alg", /RS256, PS256 or EdDSA/, { publicKey: RSA.jwk }),
    row("ES256", ".alg", /RS256, PS256 or EdDSA/, { publicKey: P256.jwk, alg: "ES256" }),
    row("HS256", ".alg", /RS256, PS256 or EdDSA/, { publicKey: RSA.jwk, alg: "HS256" }),
    row("none", ".alg", /RS256, PS256 or EdDSA/, { publicKey: RSA.jwk, alg: "none" }),
    row("RS256 on an Ed25519 key", ".publicKey", / an RSA key for RS256, got Ed25519$/, {
      publicKey: ED25519.jwk,
      alg: "RS256",
    }),
    row("EdDSA on an RSA key", ".publicKey", / an Ed25519 key for EdDSA, got RSA$/, {
      publicKey: RSA.jwk,
      alg: "EdDSA",
    }),
    row("EdDSA on an X25519 key", ".publicKey", /Ed25519 key for EdDSA, got X25519$/, {
      publicKey: X25519.jwk,
      alg: "EdDSA",
    }),
    row("RSA of 1024 bits", ".publicKey", /1024 bits/, { publicKey: SMALL_RSA.jwk, alg: "RS256" }),
    row("private members", ".publicKey", /private member/, { publicKey: ED25519.privateJwk, alg: "EdDSA" }),
  ]);
});

describe("a JWK that contradicts its published form is refused", () => {
  const jwk = newP256Jwk();
  refuses([
    [
      "its kid is not the keyId",
      "entries[1].publicKey",
      /JWK's "kid" must be "old"/,
      [good, { keyId: "old", publicKey: { ...jwk, kid: "other" } }],
    ],
    [
      "its kid would be replaced by the thumbprint",
      "entries[1].publicKey",
      /set keyId/,
      [good, { publicKey: { ...jwk, kid: "other" } }],
    ],
    [
      "it is for encryption and listed for signing",
      "entries[1].publicKey",
      /JWK's "use" must be "sig"/,
      [good, { publicKey: { ...jwk, use: "enc" } }],
    ],
    [
      "it is for another algorithm",
      "entries[1].publicKey",
      /JWK's "alg" must be "ES256"/,
      [good, { publicKey: { ...jwk, alg: "ECDH-ES" } }],
    ],
    [
      "it is for signing and listed for encryption",
      "encryptionKeyset[0].publicKey",
      /JWK's "use" must be "enc"/,
      [good],
      { encryptionKeyset: [{ publicKey: { ...RSA.jwk, use: "sig" } }] },
    ],
    [
      "the default algorithm is not its own",
      "encryptionKeyset[0].publicKey",
      /JWK's "alg" must be "RSA-OAEP-256"/,
      [good],
      { encryptionKeyset: [{ publicKey: { ...RSA.jwk, alg: "RSA-OAEP" } }] },
    ],
  ]);

  test("and one that agrees is not", () => {
    const publicKey = { ...jwk, kid: "old", alg: "ES256", use: "sig" };
    expect(make([good, { keyId: "old", publicKey }]).keys).toHaveLength(2);
  });
});

describe("serializeJwks refuses what createKeySet did not make", () => {
  test.for([
    ["a copy of a set", { ...goldenSet() }],
    ["an object that has a set as its prototype", Object.create(goldenSet())],
    ["a proxy of a set", new Proxy(goldenSet(), {})],
    ["null", null],
    ["a function", () => goldenSet()],
  ])("%s", ([, value]) => {
    expect(thrownBy(() => serializeJwks(value as KeySet))).toMatchObject({
      name: "ConfigurationError",
      argument: "keys",
    });
  });
});

test("no refusal shows a value of a private key", () => {
  const { d } = P256.privateJwk;
  const error = thrownBy(() => make([good, { publicKey: P256.privateJwk }]));
  const inPem = thrownBy(() => make([good, { publicKey: P256.privatePem }]));
  for (const { message, cause } of [error, inPem] as { message: string; cause: Error }[]) {
    expect(`${message} ${cause.message}`).not.toContain(String(d).slice(0, 8));
    expect(`${message} ${cause.message}`).not.toContain("MIG");
  }
});

describe("the options are refused when they are", () => {
  refuses([
    ["null", "options", /an object/, [good], null],
    ["a string", "options", /an object/, [good], "legacy"],
    ["a list", "options", /an object/, [good], []],
  ]);
});
