import { createPublicKey, verify } from "node:crypto";
import { createInputSigner, createKeySet, type InputSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createRedisReplayStore } from "@signpost/verify";
import * as x509 from "@signpost/x509";
import { credentialsErrorFrom } from "../../../packages/aws-kms/src/credential-errors.ts";
import { credentialError } from "../../../packages/azure-key-vault/src/credential-errors.ts";
import { readTrusted } from "../../../packages/cli/src/cert/inspect/source.ts";
import type { CliContext } from "../../../packages/cli/src/program/context.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { mustBecomeOurs } from "./backends-cloud.ts";
import { inFile } from "./backends-keys.ts";
import { LEAF_DER, LEAF_PEM } from "./certificates.ts";
import { EC_PRIVATE, EC_PUBLIC, jsonOr, jws, latin1, RSA_PUBLIC } from "./material.ts";

const X5C = [Buffer.from(LEAF_DER).toString("base64")];
const PUBLIC_KEY = createPublicKey({ key: EC_PUBLIC, format: "jwk" });

let inputSigner: Promise<InputSigner> | undefined;

async function openInputSigner(): Promise<InputSigner> {
  const signer = await openLocalSigner({ privateKey: EC_PRIVATE });
  return createInputSigner(createKeySet([{ keyId: "a", signer }]));
}

/** The input of a signature: the token without its third part. */
const inputOf = (header: object, claims: object): string => jws(header, claims).split(".").slice(0, 2).join(".");

export const HOSTS: readonly Target[] = [
  {
    name: "input-signer",
    parsers: ["core/host/input-signer.ts", "core/host/signing-input.ts", "core/signing/header-key.ts"],
    says: "signs only what a verifier takes for a token of this key, and signs all of it",
    structure: "jwt",
    seeds: [
      inputOf({ alg: "ES256", kid: "a" }, { exp: 1 }),
      inputOf({ alg: "ES256", x5c: X5C }, {}),
      inputOf({ alg: "ES256", jwk: EC_PUBLIC, b64: false, crit: ["b64"] }, { nbf: "x" }),
      inputOf({ alg: "ES256", jwk: EC_PRIVATE }, {}),
    ],
    words: ["ES256", "kid", "x5c", "jwk", "b64", "crit", "exp", ".", "="],
    share: 0.3,
    async check(input, probe) {
      const own = await (inputSigner ??= openInputSigner());
      const signed = await probe.settle(() => own.sign(input));
      if (!signed.ok) return signed.outcome;
      const isGood = verify("sha256", input, { key: PUBLIC_KEY, dsaEncoding: "ieee-p1363" }, signed.value);
      must(isGood, "the signature is over the whole input");
      const [header = ""] = latin1(input).split(".");
      const { alg, kid } = JSON.parse(Buffer.from(header, "base64url").toString()) as Record<string, unknown>;
      mustEqual([alg, kid ?? "a"], ["ES256", "a"], "the header names this key and its algorithm");
      return kid === undefined ? "by key" : "by kid";
    },
  },
  {
    name: "aws-credential-error",
    parsers: ["aws-kms/credential-errors.ts"],
    says: "says why there are no credentials, whatever a source throws",
    structure: "json",
    seeds: [
      { name: "CredentialsProviderError", message: "Could not load credentials from any providers" },
      { name: "SyntaxError", message: "Unexpected token < in JSON at position 0" },
      { name: "TokenProviderError", message: "expired", cause: { code: "ETIMEDOUT" } },
    ].map((error) => JSON.stringify(error)),
    words: ["ENOENT", "syscall", "path", "open", "$metadata", "AccessDenied"],
    check(input) {
      const value = jsonOr(input);
      const { row } = credentialsErrorFrom(value, undefined);
      must(row.text !== "" && row.code !== undefined, "there is a reason");
      return row.code;
    },
  },
  {
    name: "azure-credential-error",
    parsers: ["azure-key-vault/credential-errors.ts"],
    says: "makes a SignerError of whatever a credential throws",
    structure: "json",
    seeds: [
      { name: "AggregateAuthenticationError", message: "a", errors: [{ message: "connect ECONNREFUSED" }] },
      { name: "AuthenticationError", statusCode: 400, message: "AADSTS7000222: the secret has ended" },
      { name: "CredentialUnavailableError", message: "ENOENT: no such file", cause: { code: "EACCES" } },
    ].map((error) => JSON.stringify(error)),
    words: ["temporarily_unavailable", "AADSTS70021", "errors", "cause", "statusCode", "AbortError"],
    check: (input) => mustBecomeOurs(credentialError, input),
  },
  {
    name: "redis-reply",
    parsers: ["verify/replay/redis-replay-store.ts", "verify/causes.ts"],
    says: "takes only OK for a new id, and only null for a known one",
    structure: "json",
    seeds: ['"OK"', "null", '{"message":"OOM command not allowed"}', '{"code":"ECONNREFUSED","message":"no"}'],
    words: ["READONLY ", "NOAUTH ", "QUEUED", "ok"],
    share: 0.3,
    async check(input, probe) {
      const value = jsonOr(input);
      const answer = createRedisReplayStore({ call: async (command) => (command === "SET" ? value : null) });
      const failing = createRedisReplayStore({
        call: async () => {
          throw Object.assign(new Error("the client failed"), value);
        },
      });
      const rules = { mayShow: "the error of the client is the cause" };
      const claimed = await probe.settle(() => answer.claim("id", 1000), rules);
      const failed = await probe.settle(() => failing.claim("id", 1000), rules);
      must(!failed.ok, "an error is no answer");
      if (claimed.ok) mustEqual(claimed.value, value === "OK", "only OK is a new id");
      must(!claimed.ok || value === "OK" || value === null, "only null is a known id");
      return `${claimed.outcome}/${failed.outcome}`;
    },
  },
  {
    name: "cli-certificate-source",
    parsers: ["cli/cert/inspect/source.ts"],
    says: "reads certificates from PEM, DER and key sets, and refuses the rest with the name of the file",
    structure: "json",
    seeds: [
      LEAF_PEM,
      LEAF_DER,
      JSON.stringify({
        keys: [
          { ...EC_PUBLIC, kid: "a", x5c: X5C },
          { ...RSA_PUBLIC, x5c: X5C },
        ],
      }),
      JSON.stringify({ ...EC_PUBLIC, x5c: [] }),
    ],
    words: ["x5c", "keys", "-----BEGIN CERTIFICATE-----", X5C[0] ?? ""],
    share: 0.1,
    async check(input, probe) {
      return inFile(input, async (path) => {
        const context = { cwd: "/" } as unknown as CliContext;
        const read = await probe.settle(() => readTrusted(path, x509, context), {
          mayShow: "certificates are public",
        });
        if (read.ok)
          must(
            read.value.every(({ der }) => der.length > 0),
            "each certificate has its DER",
          );
        return read.outcome.replaceAll(/\S*signpost-fuzz\S*/g, "FILE");
      });
    },
  },
];
