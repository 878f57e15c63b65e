import { X509Certificate } from "node:crypto";
import { createKeySet, type KeySet, signRequestObject } from "@signpost/core";
import { readSigningInput } from "@signpost/core/adapter";
import { openLocalSigner } from "@signpost/local";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { derElements } from "../../../packages/core/src/certificate/der.ts";
import { objectIdentifier } from "../../../packages/core/src/certificate/extensions.ts";
import { parseCertificate } from "../../../packages/core/src/certificate/parse-certificate.ts";
import { readBundle } from "../../../packages/core/src/certificate/read-bundle.ts";
import { toJsonObject } from "../../../packages/core/src/signing/json.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { LEAF_DER, LEAF_PEM, ROOT_DER, ROOT_PEM } from "./certificates.ts";
import { EC_PRIVATE, EC_SPKI, ES256_JWS, jsonOr, jws, latin1, utf8 } from "./material.ts";

const BOUNDS = { maxCertificates: 8, maxBytes: 9216 };

let keys: Promise<KeySet> | undefined;

async function keySet(): Promise<KeySet> {
  return createKeySet([{ signer: await openLocalSigner({ privateKey: EC_PRIVATE }) }]);
}

export const CORE_DOCUMENTS: readonly Target[] = [
  {
    name: "der-elements",
    parsers: ["core/certificate/der.ts"],
    says: "accepts exactly elements with the shortest lengths, which fill the bytes",
    structure: "der",
    seeds: [EC_SPKI, LEAF_DER, Uint8Array.of(5, 0, 5, 0)],
    check(input) {
      const elements = derElements(input);
      if (elements === undefined) return "refused";
      const again = Buffer.concat(
        elements.map(({ tag, contents }) => Buffer.concat([derHeader(tag, contents.length), contents])),
      );
      must(Buffer.compare(again, input) === 0, "the elements written with the shortest lengths are the input");
      return elements.length > 1 ? "list" : "one";
    },
  },
  {
    name: "object-identifier",
    parsers: ["core/certificate/extensions.ts"],
    says: "writes each identifier exactly, however large its numbers are",
    structure: "bytes",
    seeds: [
      Uint8Array.of(0x55, 0x1d, 0x13),
      Uint8Array.of(0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1),
      Buffer.from("6983f1a8b2c3d4e5f6a7b8c9d0e1f2a3b4c5d67f", "hex"),
    ],
    check(input) {
      const dotted = objectIdentifier(input);
      // What OpenSSL has refused before: an empty one, an unfinished number, and a padded one.
      if (!isOid(input)) return "refused before";
      if (dotted.startsWith("#")) return "long";
      mustEqual(dotted, dottedByBigInt(input), "the numbers are exact");
      return String(Math.min(5, dotted.split(".").length));
    },
  },
  {
    name: "certificate-der",
    parsers: [
      "core/certificate/parse-certificate.ts",
      "core/certificate/extensions.ts",
      "core/certificate/extension-values.ts",
      "core/certificate/der.ts",
    ],
    says: "reads only what OpenSSL reads, and the same key, names and times",
    structure: "der",
    seeds: [LEAF_DER, ROOT_DER],
    check(input) {
      const read = parseCertificate(input);
      if (typeof read === "string") return read;
      const x509 = new X509Certificate(input);
      const key = keyOf(x509);
      if (key !== undefined)
        mustEqual(Buffer.from(read.spki).toString("hex"), key, "the key is the one that OpenSSL reads");
      mustEqual(
        [read.notBefore, read.notAfter].map((time) => Math.trunc(time / 1000)),
        [x509.validFrom, x509.validTo].map((text) => Date.parse(text) / 1000),
        "the times are those that OpenSSL reads",
      );
      must(read.isCa || !x509.ca, "an authority for OpenSSL is one");
      mustEqual(read.isSelfIssued, x509.subject === x509.issuer, "it is self-issued if its names are equal");
      return `ca ${read.isCa}, ${read.unknownCritical.length} unknown`;
    },
  },
  {
    name: "certificate-bundle",
    parsers: ["core/certificate/read-bundle.ts"],
    says: "takes blocks of certificates and nothing else, and shows nothing of what it refuses",
    structure: "pem",
    seeds: [
      LEAF_PEM,
      LEAF_PEM + ROOT_PEM,
      `\r\n${LEAF_PEM.replaceAll("\n", "\r\n")}`,
      Buffer.from(LEAF_DER).toString("base64"),
    ],
    words: [
      "-----BEGIN CERTIFICATE-----",
      "-----END CERTIFICATE-----",
      "-----BEGIN PRIVATE KEY-----",
      "-----BEGIN PKCS7-----",
      "subject=CN=a\n",
    ],
    check(input, probe) {
      const text = utf8(input);
      const place = { argument: "certificates.chain", subject: 'kid "a"' };
      const read = probe.attempt(() => readBundle(place, text, BOUNDS));
      const listed = probe.attempt(() => readBundle(place, [text], BOUNDS));
      if (!read.ok) return `${read.outcome}/${listed.outcome}`;
      must(
        read.value.length > 0 && read.value.length <= BOUNDS.maxCertificates,
        "there are as many certificates as allowed",
      );
      mustEqual(hexOf(listed.ok ? listed.value : []), hexOf(read.value), "PEM in a list is read in the same way");
      must(!/PRIVATE KEY|[^\s\w+/=-]/.test(text), "there is nothing but certificates");
      return String(read.value.length);
    },
  },
  {
    name: "signing-input",
    parsers: ["core/host/signing-input.ts"],
    says: "never throws, and reads the same header and claims as jose",
    structure: "jwt",
    seeds: [ES256_JWS, jws({ alg: "ES256", kid: "a" }, { sub: "b" }), "e30.e30", "bnVsbA.W10.x", "."],
    words: ["__proto__", "kid", "alg"],
    check(input) {
      const text = latin1(input);
      const { header, claims } = readSigningInput(text);
      mustEqual(readSigningInput(input), { header, claims }, "text and bytes are read in the same way");
      const known = whatJoseReads(text);
      if (known !== undefined) mustEqual({ header, claims }, known, "jose reads the same");
      return `${Object.keys(header).length > 0}/${Object.keys(claims).length > 0}/${known !== undefined}`;
    },
  },
  {
    name: "claims-object",
    parsers: ["core/signing/json.ts"],
    says: "copies JSON without a change, to 64 levels",
    structure: "json",
    seeds: [
      JSON.stringify({ sub: "a", aud: ["b"], nested: { list: [1, { c: null }] } }),
      '{"__proto__":{"a":1}}',
      "[]",
    ],
    check(input, probe) {
      const value = jsonOr(input);
      const copied = probe.attempt(() => toJsonObject("claims", value), { mayShow: "the path of a member is shown" });
      if (!copied.ok) return copied.outcome;
      mustEqual(copied.value, value, "the copy is the same JSON");
      must(
        Object.getPrototypeOf({}) === Object.prototype && Reflect.get({}, "a") === undefined,
        "no prototype is changed",
      );
      return "read";
    },
  },
  {
    name: "request-parameters",
    parsers: ["core/client/request-object.ts"],
    says: "signs the parameters of a query as they are, or refuses them",
    structure: "text",
    seeds: [
      "response_type=code&max_age=60&claims=%7B%22id_token%22%3A%7B%7D%7D",
      "resource=a&resource=b",
      "authorization_details=[]",
      "request=x",
    ],
    words: ["client_id", "request_uri", "iss", "exp", "max_age", "claims", "__proto__", "[", "{}"],
    share: 0.2,
    async check(input, probe) {
      const query = new URLSearchParams(utf8(input).toWellFormed());
      const set = await (keys ??= keySet());
      const options = { clientId: "client-1", issuer: "https://op.example" };
      const signed = await probe.settle(() => signRequestObject(set, query, options), {
        mayShow: "the name of a parameter is shown",
      });
      if (!signed.ok) return signed.outcome;
      const claims = decodeJwt(signed.value);
      for (const name of new Set(query.keys())) {
        const values = query.getAll(name);
        const own = Object.hasOwn(claims, name) ? claims[name] : undefined;
        must(own !== undefined, "each parameter is a claim");
        if (typeof own === "string" && name !== "claims" && name !== "authorization_details")
          mustEqual(own, values[0], "a parameter is signed as it is");
      }
      return `${query.size > 1}`;
    },
  },
];

function hexOf(list: readonly Uint8Array[]): readonly string[] {
  return list.map((bytes) => Buffer.from(bytes).toString("hex"));
}

function derHeader(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.of(tag, length);
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.length % 2 === 1 ? `0${digits}` : digits, "hex");
  return Buffer.concat([Buffer.of(tag, 0x80 | bytes.length), bytes]);
}

function isOid(bytes: Uint8Array): boolean {
  const starts = bytes.filter((_, index) => index === 0 || (bytes[index - 1] ?? 0) < 0x80);
  return bytes.length > 0 && (bytes.at(-1) ?? 0x80) < 0x80 && !starts.includes(0x80);
}

function dottedByBigInt(bytes: Uint8Array): string {
  const numbers: bigint[] = [];
  let number = 0n;
  for (const byte of bytes) {
    number = number * 128n + BigInt(byte & 0x7f);
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0n;
  }
  const [first = 0n, ...rest] = numbers;
  const top = first < 80n ? first / 40n : 2n;
  return [top, first - top * 40n, ...rest].join(".");
}

function whatJoseReads(token: string): { readonly header: object; readonly claims: object } | undefined {
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch {
    return undefined;
  }
}

/** Undefined for a key that OpenSSL does not read, or that it writes in another way. */
function keyOf(x509: X509Certificate): string | undefined {
  try {
    const der = x509.publicKey.export({ type: "spki", format: "der" });
    return x509.raw.includes(der) ? der.toString("hex") : undefined;
  } catch {
    return undefined;
  }
}
