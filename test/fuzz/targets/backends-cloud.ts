import { SignerError } from "@signpost/core";
import {
  readPublicKey as readAwsKey,
  readSignature as readAwsSignature,
} from "../../../packages/aws-kms/src/answers.ts";
import { readConfiguredEndpoint } from "../../../packages/aws-kms/src/endpoint.ts";
import { signerErrorFrom as awsError } from "../../../packages/aws-kms/src/errors.ts";
import { decodeBase64, readAnswer } from "../../../packages/aws-kms/src/https/answer.ts";
import { isKeyArn, isKeyArnFor, parseKeyName as parseAwsName } from "../../../packages/aws-kms/src/key-name.ts";
import { formatKeyUri as formatAwsUri, parseKeyUri as parseAwsUri } from "../../../packages/aws-kms/src/uri.ts";
import {
  checksumOf,
  readPublicKey as readGcpKey,
  readSignature as readGcpSignature,
} from "../../../packages/gcp-kms/src/answers.ts";
import { signerErrorFrom as gcpError } from "../../../packages/gcp-kms/src/errors.ts";
import { isKeyVersionName, parseKeyName as parseGcpName, projectOf } from "../../../packages/gcp-kms/src/key-name.ts";
import { formatKeyUri as formatGcpUri, parseKeyUri as parseGcpUri } from "../../../packages/gcp-kms/src/uri.ts";
import { listGcpKmsKeyVersions } from "../../../packages/gcp-kms/src/versions.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { EC_PEM, EC_SPKI, jsonOr, RAW_SIGNATURE, utf8 } from "./material.ts";
import { derSignature, toBigInt } from "./oracles.ts";

const ARN = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const ALIAS_ARN = "arn:aws-cn:kms:cn-north-1:111122223333:alias/op/2026";
const TARGET = { key: ARN, region: "eu-west-1" };
const DER = derSignature(toBigInt(RAW_SIGNATURE.subarray(0, 32)), toBigInt(RAW_SIGNATURE.subarray(32)));
const VERSION = "projects/op/locations/europe-west3/keyRings/signing/cryptoKeys/id-token/cryptoKeyVersions/1";
const CRYPTO_KEY = VERSION.slice(0, VERSION.indexOf("/cryptoKeyVersions"));
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
/** Errors of clients, with what they are about. */
const SHOWS_SERVICE = "the message of the service is the cause";

export const BACKENDS_CLOUD: readonly Target[] = [
  {
    name: "aws-key-uri",
    parsers: ["aws-kms/uri.ts", "aws-kms/key-name.ts", "aws-kms/endpoint.ts", "core/signer/scheme.ts"],
    says: "a URI and the URI that is written for the same key mean the same key",
    structure: "text",
    seeds: [
      `awskms:///${ARN}`,
      "awskms:///alias/op?region=eu-west-1",
      `awskms://127.0.0.1:4566/${ALIAS_ARN}`,
      "awskms://kms.internal/alias/op?scheme=http",
      "AWSKMS://[::1]:80/1234abcd-12ab-34cd-56ef-1234567890ab",
      "awskms://localstack:4566/alias/op?region=us-east-1&scheme=https",
    ],
    words: [
      "awskms://",
      "alias/",
      "arn:aws:kms:",
      "?region=",
      "&scheme=http",
      "&scheme=https",
      "@",
      "%2f",
      "#",
      "localhost",
      "mrk-",
    ],
    check(input, probe) {
      const uri = utf8(input);
      const rules = { allowInsecureEndpoint: true };
      const read = probe.attempt(() => parseAwsUri(uri, rules), { mayShow: "the origin of an endpoint is shown" });
      if (!read.ok) return read.outcome;
      const { key, endpoint, region, name } = read.value;
      const written = formatAwsUri(key, endpoint, region);
      const again = probe.attempt(() => parseAwsUri(written, rules));
      must(again.ok, "the URI that is written can be read");
      mustEqual(
        { ...again.value, region: again.value.region ?? ("region" in name ? region : undefined) },
        read.value,
        "the URI that is written means the same key",
      );
      return `${name.kind}/${endpoint === undefined}/${region === undefined}`;
    },
  },
  {
    name: "aws-key-name",
    parsers: ["aws-kms/key-name.ts"],
    says: "accepts ids, aliases and ARNs, and an answer only for the key that was asked for",
    structure: "text",
    seeds: [
      ARN,
      ALIAS_ARN,
      "alias/op",
      "mrk-1234abcd12ab34cd56ef1234567890ab",
      "arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/a",
    ],
    words: ["arn:", ":key/", ":alias/", "aws-", "111122223333", "/", "\n"],
    check(input, probe) {
      const text = utf8(input);
      const read = probe.attempt(() => parseAwsName("key", text));
      must(!isKeyArnFor(text, ARN) || text === ARN, "an ARN is answered by this ARN alone");
      if (!read.ok) return read.outcome;
      must(/^[A-Za-z0-9:/_-]+$/.test(text), "a name has no other characters");
      mustEqual(read.value.kind === "key-arn", isKeyArn(text), "both readers of ARNs agree");
      return read.value.kind;
    },
  },
  {
    name: "aws-endpoint",
    parsers: ["aws-kms/endpoint.ts"],
    says: "takes from the configuration only an address with a host, and shows no password",
    structure: "text",
    seeds: [
      "https://vpce.kms.eu-west-1.amazonaws.com/path",
      "http://localhost:4566",
      "https://user:secret@kms.internal",
    ],
    words: ["http://", "https://", "@", "/", "?", "#", "localhost"],
    check(input, probe) {
      const text = utf8(input);
      if (!URL.canParse(text)) return "no URL";
      const read = probe.attempt(() => readConfiguredEndpoint(text, "from AWS_ENDPOINT_URL", false), {
        mayShow: "the origin of an endpoint is shown",
      });
      if (!read.ok) return read.outcome;
      const { username, search, hash } = new URL(read.value.url);
      mustEqual([username, search, hash], ["", "", ""], "the URL has no user and no query");
      return String(read.value.inUri);
    },
  },
  {
    name: "aws-answer",
    parsers: ["aws-kms/https/answer.ts", "aws-kms/answers.ts", "aws-kms/errors.ts", "aws-kms/error-table.ts"],
    says: "takes a key or a signature only from a complete answer about this key",
    structure: "json",
    seeds: [
      {
        KeyId: ARN,
        PublicKey: base64(EC_SPKI),
        KeySpec: "ECC_NIST_P256",
        KeyUsage: "SIGN_VERIFY",
        SigningAlgorithms: ["ECDSA_SHA_256"],
      },
      { KeyId: ARN, Signature: base64(DER), SigningAlgorithm: "ECDSA_SHA_256" },
      { __type: "com.amazonaws.kms#NotFoundException", message: "not there" },
      { code: "ThrottlingException:http://internal/", Message: "slow down" },
    ].map((answer) => JSON.stringify(answer)),
    words: [ARN, ALIAS_ARN, "ECC_NIST_P384", "__type", "KMSInvalidStateException", "#", ":"],
    check(input, probe) {
      const outcomes = [200, 400, 503].map((status) => {
        const found = probe.attempt(
          () => {
            try {
              const members = readAnswer({ status, headers: {}, body: Buffer.from(input) });
              const bytes = (name: string): unknown => decodeBase64(members[name]);
              if (members["Signature"] === undefined)
                return readAwsKey({ ...members, PublicKey: bytes("PublicKey") as Uint8Array }, TARGET);
              return readAwsSignature({ ...members, Signature: bytes("Signature") as Uint8Array }, ARN, TARGET);
            } catch (error) {
              const mapped = awsError(error, "kms:Sign", TARGET);
              must(mapped instanceof SignerError, "each failure becomes a SignerError");
              throw mapped;
            }
          },
          { mayShow: SHOWS_SERVICE },
        );
        must(!found.ok || status === 200, "an error is never taken for a success");
        if (found.ok && !(found.value instanceof Uint8Array))
          mustEqual(found.value.name, ARN, "the key is the one that was asked for");
        return found.outcome;
      });
      return outcomes.join("/");
    },
  },
  {
    name: "aws-error",
    parsers: ["aws-kms/errors.ts", "aws-kms/error-table.ts"],
    says: "makes a SignerError of whatever a client throws",
    structure: "json",
    seeds: [
      { name: "ThrottlingException", message: "slow", $fault: "client", $metadata: { httpStatusCode: 400 } },
      { code: "ECONNRESET", message: "reset", cause: { code: "EPIPE", message: "pipe" } },
      { name: "CredentialsProviderError", message: "no" },
      { name: "AggregateError", errors: [{ code: "ECONNREFUSED", message: "a" }] },
    ].map((error) => JSON.stringify(error)),
    words: ["TimeoutError", "AccessDeniedException", "signature", "ENOTFOUND", "CERT_HAS_EXPIRED"],
    check: (input) => mustBecomeOurs((error) => awsError(error, "kms:Sign", TARGET), input),
  },
  {
    name: "gcp-key-uri",
    parsers: ["gcp-kms/uri.ts", "gcp-kms/key-name.ts"],
    says: "accepts names of keys and versions, each version in one spelling",
    structure: "text",
    seeds: [
      `gcpkms://${VERSION}`,
      `gcpkms://${CRYPTO_KEY}`,
      `GCPKMS://${CRYPTO_KEY}/versions/12`,
      "gcpkms://projects/example.com:op/locations/global/keyRings/r/cryptoKeys/k",
    ],
    words: [
      "gcpkms://",
      "projects/",
      "/locations/",
      "/cryptoKeyVersions/",
      "/versions/",
      "01",
      "9".repeat(19),
      "//",
      "%2F",
      "?",
    ],
    check(input, probe) {
      const uri = utf8(input);
      const rest = probe.attempt(() => parseGcpUri(uri));
      if (!rest.ok) return rest.outcome;
      const read = probe.attempt(() => parseGcpName("uri", rest.value), { mayShow: "what looks like a name is shown" });
      if (!read.ok) return read.outcome;
      const name = read.value.kind === "version" ? read.value.keyVersion : read.value.cryptoKey;
      mustEqual(
        parseGcpName("uri", parseGcpUri(formatGcpUri(name))),
        read.value,
        "the URI that is written means the same key",
      );
      mustEqual(isKeyVersionName(name), read.value.kind === "version", "both readers of names agree");
      must(projectOf(name) !== undefined && /^[\w.:/-]+$/.test(name), "a name has a project and no other characters");
      return read.value.kind;
    },
  },
  {
    name: "gcp-answer",
    parsers: ["gcp-kms/answers.ts"],
    says: "takes a key or a signature only with the right name and checksums",
    structure: "json",
    seeds: [
      {
        name: VERSION,
        algorithm: "EC_SIGN_P256_SHA256",
        pem: EC_PEM,
        pemCrc32c: { value: String(checksumOf(Buffer.from(EC_PEM))) },
        protectionLevel: "HSM",
      },
      {
        name: VERSION,
        signature: base64(DER),
        signatureCrc32c: { value: checksumOf(DER) },
        verifiedDigestCrc32c: true,
      },
    ].map((answer) => JSON.stringify(answer)),
    words: [VERSION, "EC_SIGN_P384_SHA384", "value", "0x0"],
    check(input, probe) {
      const answer = jsonOr(input);
      const pem = probe.attempt(() => readGcpKey(answer as object, VERSION), {
        mayShow: "the name of another version is shown",
      });
      const bytes = Object.fromEntries(
        Object.entries(Object(answer)).map(([name, value]) => [
          name,
          name === "signature" && typeof value === "string" ? Buffer.from(value, "base64") : value,
        ]),
      );
      const signature = probe.attempt(() => readGcpSignature(bytes, VERSION), {
        mayShow: "the name of another version is shown",
      });
      if (pem.ok) mustEqual(pem.value.name, VERSION, "the key is the one that was asked for");
      if (signature.ok)
        mustEqual(
          Buffer.from(signature.value).toString("hex"),
          Buffer.from(RAW_SIGNATURE).toString("hex"),
          "a signature with the right checksum is the one that was sent",
        );
      return `${pem.outcome}/${signature.outcome}`;
    },
  },
  {
    name: "gcp-versions",
    parsers: ["gcp-kms/versions.ts"],
    says: "lists versions of this key alone, each with a state and a date",
    structure: "json",
    seeds: [
      [
        { name: VERSION, state: "ENABLED", createTime: { seconds: "1767225600", nanos: 5000000 } },
        { name: VERSION.replace(/1$/, "2"), state: 5, createTime: { seconds: 1 } },
      ],
      [{ name: VERSION, state: "DESTROYED", createTime: { seconds: 0, nanos: null } }],
    ].map((versions) => JSON.stringify(versions)),
    words: [VERSION, "seconds", "nanos", "state"],
    share: 0.3,
    async check(input, probe) {
      const versions = jsonOr(input);
      const call = async (): Promise<never> => {
        throw new Error("not called");
      };
      const client = {
        initialize: async () => ({}),
        listCryptoKeyVersions: async () => [versions, null, null],
        getPublicKey: call,
        asymmetricSign: call,
        getCryptoKeyVersion: call,
        close: async () => undefined,
      };
      const listed = await probe.settle(() => listGcpKmsKeyVersions(CRYPTO_KEY, { client: client as never }), {
        mayShow: "the name of another version is shown",
      });
      if (!listed.ok) return listed.outcome;
      must(
        listed.value.every(
          ({ keyVersion, createTime }) =>
            keyVersion.startsWith(`${CRYPTO_KEY}/`) && !Number.isNaN(createTime.getTime()),
        ),
        "each version is of this key, and has a date",
      );
      return String(Math.min(3, listed.value.length));
    },
  },
  {
    name: "gcp-error",
    parsers: [
      "gcp-kms/errors.ts",
      "gcp-kms/client-error.ts",
      "gcp-kms/credential-errors.ts",
      "gcp-kms/foreign-answer.ts",
    ],
    says: "makes a SignerError of whatever a client throws",
    structure: "json",
    seeds: [
      { code: 5, message: "5 NOT_FOUND: no", details: "no" },
      { code: 9, message: "current state is: DISABLED" },
      { code: 503, message: '{"error":{"status":"UNAVAILABLE"}}' },
      { code: "ECONNRESET", message: "reset", cause: { message: "x", code: "EPIPE" } },
      { name: "GaxiosError", message: "invalid_grant", response: { status: 400 } },
    ].map((error) => JSON.stringify(error)),
    words: ["UNAUTHENTICATED", "details", "response", "httpStatusCode", "invalid_grant"],
    check: (input) =>
      mustBecomeOurs((error) => gcpError(error, { action: "sign with", name: VERSION, permission: undefined }), input),
  },
];

/** The error of a client is any value. As JSON it has no getters, but members of every type. */
export function mustBecomeOurs(map: (error: unknown) => unknown, input: Uint8Array): string {
  const value = jsonOr(input);
  const thrown =
    typeof value === "object" && value !== null ? Object.assign(new Error("a client failed"), value) : value;
  const outcomes = [value, thrown].map((error) => {
    const mapped = map(error);
    must(mapped instanceof SignerError, "each failure becomes a SignerError");
    must(mapped.message !== "", "each failure has a message");
    return `${mapped.code} ${mapped.transient}`;
  });
  return outcomes.join("/");
}
