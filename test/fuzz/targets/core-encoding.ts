import { createPublicKey } from "node:crypto";
import { decodeBase64url, encodeBase64url, publicJwkFrom } from "@signpost/core/adapter";
import {
  ecdsaDerToRaw,
  ecdsaRawToDer,
  ecPointToJwk,
  jwkThumbprint,
  jwkToSpki,
  spkiToJwk,
  type JwkInput,
} from "@signpost/core";
import { type Target, must, mustEqual } from "../engine/target.ts";
import {
  EC_PEM,
  EC_PRIVATE,
  EC_PUBLIC,
  EC_SPKI,
  ED25519_PUBLIC,
  jsonOr,
  RAW_SIGNATURE,
  RSA_PUBLIC,
  utf8,
} from "./material.ts";
import { base64urlBytes, derSignature, isOnP256, isScalar, looseSignature, toBigInt } from "./oracles.ts";

const [R, S] = [toBigInt(RAW_SIGNATURE.subarray(0, 32)), toBigInt(RAW_SIGNATURE.subarray(32))];
const SPKI_HEADER = 27;
const POINT = EC_SPKI.subarray(SPKI_HEADER - 1);

/** The second implementation is slow. */
const LONGEST_FOR_ORACLE = 8192;

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

export const CORE_ENCODING: readonly Target[] = [
  {
    name: "ecdsa-der",
    parsers: ["core/encoding/ecdsa-signature.ts"],
    says: "accepts exactly the one DER encoding of two numbers in range, and writes the same bytes again",
    structure: "der",
    seeds: [derSignature(R, S), derSignature(1n, 1n), derSignature(2n ** 255n, 127n), derSignature(128n, 2n ** 248n)],
    check(input, probe) {
      const read = probe.attempt(() => ecdsaDerToRaw(input));
      const numbers = looseSignature(input);
      const isExact = numbers !== undefined && numbers.every(isScalar) && same(derSignature(...numbers), input);
      must(read.ok === isExact, "exactly the only encoding of two numbers in range is accepted");
      if (read.ok) must(same(ecdsaRawToDer(read.value), input), "DER to raw and back gives the same bytes");
      return read.outcome;
    },
  },
  {
    name: "ecdsa-raw",
    parsers: ["core/encoding/ecdsa-signature.ts"],
    says: "accepts exactly 64 bytes of two numbers in range",
    structure: "bytes",
    seeds: [
      RAW_SIGNATURE,
      new Uint8Array(64).fill(0xff),
      Uint8Array.from({ length: 64 }, (_, index) => (index % 32 === 31 ? 1 : 0)),
    ],
    check(input, probe) {
      const written = probe.attempt(() => ecdsaRawToDer(input));
      const [r, s] = [toBigInt(input.subarray(0, 32)), toBigInt(input.subarray(32))];
      must(
        written.ok === (input.length === 64 && isScalar(r) && isScalar(s)),
        "64 bytes of two numbers in range are accepted, and nothing else",
      );
      if (written.ok) must(same(written.value, derSignature(r, s)), "the DER has these two numbers");
      return written.outcome;
    },
  },
  {
    name: "spki-der",
    parsers: ["core/encoding/spki.ts", "core/encoding/ec-point.ts"],
    says: "accepts what OpenSSL accepts, if it is DER of a P-256 key",
    structure: "der",
    seeds: [
      EC_SPKI,
      Uint8Array.from([0x30, 0x39, 0x30, 0x13, ...EC_SPKI.subarray(4, 23), 0x03, 0x22, 0, 3, ...POINT.subarray(1, 33)]),
    ],
    check(input, probe) {
      const read = probe.attempt(() => spkiToJwk(input));
      const opened = p256OfOpenssl(input);
      must(read.ok === (opened !== undefined), "OpenSSL reads the same DER");
      if (read.ok) {
        mustEqual({ x: read.value.x, y: read.value.y }, opened, "OpenSSL reads the same key");
        must(
          same(jwkToSpki(read.value), input) || input.length < EC_SPKI.length,
          "a key with an uncompressed point is written as it was",
        );
      }
      return read.outcome;
    },
  },
  {
    name: "spki-pem",
    parsers: ["core/encoding/spki.ts", "core/encoding/given-key.ts"],
    says: "reads the same key as OpenSSL, and shows nothing of what it refuses",
    structure: "pem",
    seeds: [EC_PEM, EC_PEM.replaceAll("\n", "\r\n"), ` \n${EC_PEM}\n`, EC_PEM.replace("PUBLIC", "PRIVATE")],
    words: [
      "-----BEGIN PUBLIC KEY-----",
      "-----END PUBLIC KEY-----",
      "-----BEGIN EC PRIVATE KEY-----",
      "Proc-Type: 4,ENCRYPTED",
    ],
    check(input, probe) {
      const text = utf8(input);
      const read = probe.attempt(() => spkiToJwk(text));
      const any = probe.attempt(() => publicJwkFrom(text, "publicKey"));
      if (read.ok) {
        mustEqual(read.value, exported(createPublicKey(text)), "OpenSSL reads the same key");
        mustEqual(any.ok && any.value, read.value, "both readers of PEM read the same key");
      }
      return `${read.outcome}/${any.outcome}`;
    },
  },
  {
    name: "ec-point",
    parsers: ["core/encoding/ec-point.ts"],
    says: "accepts exactly the points of the curve in its five forms",
    structure: "bytes",
    seeds: [
      POINT,
      POINT.subarray(1),
      Uint8Array.from([2 + ((POINT[64] ?? 0) & 1), ...POINT.subarray(1, 33)]),
      Uint8Array.from([4, 65, ...POINT]),
      Uint8Array.from([4, 33, 2 + ((POINT[64] ?? 0) & 1), ...POINT.subarray(1, 33)]),
    ],
    check(input, probe) {
      const read = probe.attempt(() => ecPointToJwk(input));
      const raw = input.length === 64 ? input : input.length === 65 ? input.subarray(1) : input.subarray(3);
      if (read.ok) {
        const [x, y] = [read.value.x, read.value.y].map((text) => new Uint8Array(Buffer.from(text, "base64url")));
        must(x?.length === 32 && y?.length === 32 && isOnP256(toBigInt(x), toBigInt(y)), "the point is on the curve");
      }
      const isWhole = input.length === 64 || (input.length === 65 && input[0] === 4);
      if (isWhole)
        must(
          read.ok === isOnP256(toBigInt(raw.subarray(0, 32)), toBigInt(raw.subarray(32))),
          "each point of the curve is accepted",
        );
      return `${input.length}/${read.outcome}`;
    },
  },
  {
    name: "base64url",
    parsers: ["core/encoding/base64url.ts"],
    says: "accepts exactly the canonical texts without padding",
    structure: "text",
    seeds: ["", "AQID", "AQI", "AQ", "AQ==", "_-_-", "A", "AR", "YWJj\n", "++//"],
    check(input) {
      const text = utf8(input);
      const bytes = decodeBase64url(text);
      if (text.length > LONGEST_FOR_ORACLE) return "long";
      const expected = base64urlBytes(text);
      must((bytes === undefined) === (expected === undefined), "canonical texts are accepted, and no others");
      if (bytes !== undefined && expected !== undefined) {
        must(same(bytes, expected), "the bytes are those of the text");
        must(encodeBase64url(bytes) === text, "the text is written again as it was");
      }
      return bytes === undefined ? "refused" : "read";
    },
  },
  {
    name: "public-jwk",
    parsers: ["core/encoding/public-jwk.ts", "core/encoding/given-key.ts", "core/encoding/thumbprint.ts"],
    says: "accepts no key that OpenSSL refuses, none with a private member, and gives each key one thumbprint",
    structure: "json",
    seeds: [EC_PUBLIC, EC_PRIVATE, ED25519_PUBLIC, RSA_PUBLIC, { kty: "OKP", crv: "X25519", x: ED25519_PUBLIC.x }].map(
      (jwk) => JSON.stringify(jwk),
    ),
    words: ["P-384", "P-521", "Ed448", "oct", "secp256k1", "AQ", "Aw", EC_PUBLIC.x, RSA_PUBLIC.n],
    check(input, probe) {
      const jwk = jsonOr(input);
      const read = probe.attempt(() => publicJwkFrom(jwk, "publicKey"));
      const kid = probe.attempt(() => jwkThumbprint(jwk as JwkInput));
      if (!read.ok) return `${read.outcome}/${kid.outcome}`;
      if (typeof jwk === "string") return "pem";
      must(!("d" in Object(jwk)) || Object(jwk).d === undefined, "a private key is not taken for a public one");
      const { kty, crv, x, y, n, e } = jwk as Record<string, string>;
      mustEqual(read.value, { kty, crv, x, y, n, e }, "the members are taken as they are");
      mustEqual(
        exported(createPublicKey({ key: { ...read.value }, format: "jwk" })),
        read.value,
        "OpenSSL reads the same key",
      );
      must(kid.ok && kid.value === jwkThumbprint(read.value), "other members do not change the thumbprint");
      return `${kty}/${crv}`;
    },
  },
];

function exported(key: ReturnType<typeof createPublicKey>): object {
  return key.export({ format: "jwk" });
}

/** The key in a SubjectPublicKeyInfo, if OpenSSL reads it and writes the same bytes. A compressed point is written as such. */
function p256OfOpenssl(der: Uint8Array): object | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" });
    if (key.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== "prime256v1") return undefined;
    const { x = "", y = "" } = key.export({ format: "jwk" });
    const [xBytes, yBytes] = [x, y].map((text) => Buffer.from(text, "base64url"));
    if (xBytes === undefined || yBytes === undefined) return undefined;
    const header = [...EC_SPKI.subarray(0, SPKI_HEADER - 1)];
    const whole = Uint8Array.from([...header, 4, ...xBytes, ...yBytes]);
    const short = [0x30, 0x39, ...header.slice(2, 23), 0x03, 0x22, 0, 2 + ((yBytes.at(-1) ?? 0) & 1), ...xBytes];
    return same(whole, der) || same(Uint8Array.from(short), der) ? { x, y } : undefined;
  } catch {
    return undefined;
  }
}
