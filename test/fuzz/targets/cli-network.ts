import { gzipSync } from "node:zlib";
import { azureKeyName, azureRefusal, isManagedHsm } from "../../../packages/cli/src/backends/azure-key-vault.ts";
import { kmsPlace } from "../../../packages/cli/src/backends/aws-kms.ts";
import { vaultKeyName } from "../../../packages/cli/src/backends/vault-transit.ts";
import { decodedBody } from "../../../packages/cli/src/check/content-coding.ts";
import { readEntityTag } from "../../../packages/cli/src/check/entity-tag.ts";
import type { Answer } from "../../../packages/cli/src/check/exchange.ts";
import { excerpt } from "../../../packages/cli/src/check/excerpt.ts";
import { readFacts } from "../../../packages/cli/src/check/facts.ts";
import { repeatedNames } from "../../../packages/cli/src/check/json-names.ts";
import { dateOf, directSeconds, lifetimeOf, sharedSeconds } from "../../../packages/cli/src/check/lifetime.ts";
import { readReplicas } from "../../../packages/cli/src/check/probe/replicas.ts";
import { readTarget } from "../../../packages/cli/src/check/probe/target.ts";
import { judge } from "../../../packages/cli/src/check/rules/all.ts";
import { localTranslators } from "../../../packages/cli/src/network/private-address.ts";
import { readToken, firstAudience } from "../../../packages/cli/src/verify/token.ts";
import { refusalHint, refusalWords, ruleWords } from "../../../packages/cli/src/verify/words.ts";
import { readSigningInput } from "@signpost/core/adapter";
import { parseKeyUri as parseAwsUri } from "../../../packages/aws-kms/src/uri.ts";
import { parseKeyUri as parseAzureUri } from "../../../packages/azure-key-vault/src/uri.ts";
import { parseKeyUri as parseVaultUri } from "../../../packages/vault-transit/src/uri.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { EC_PRIVATE, ES256_JWS, jsonOr, jws, JWKS, latin1, utf8 } from "./material.ts";

const SENT_AT = Date.UTC(2026, 0, 1);
const REQUEST = { method: "GET", url: "https://op.example/jwks", headers: {} };

function answer(headers: Answer["headers"], body: Uint8Array): Answer {
  return {
    kind: "answer",
    request: REQUEST,
    status: 200,
    headers,
    body,
    isTruncated: false,
    strayBytes: 0,
    sentAt: SENT_AT,
    tookMs: 5,
    tls: undefined,
  };
}

const EXPECTED = {
  issuer: "https://op.example",
  audience: "client-1",
  algorithms: ["ES256"],
  type: "id_token",
  place: "jwks.json",
  now: SENT_AT / 1000,
};
const RULE_NAMES = ["form", "algorithm", "type", "key", "signature", "issuer", "times", "audience", "claims"] as const;
const REFUSALS = [
  "alg_not_allowed",
  "invalid_typ",
  "unknown_kid",
  "missing_kid",
  "invalid_issuer",
  "invalid_audience",
  "expired",
  "not_yet_valid",
  "malformed_jwt",
];
const isPlain = (text: string): boolean => !/[\p{Cc}\u202a-\u202e]/u.test(text);

export const CLI_NETWORK: readonly Target[] = [
  {
    name: "cli-check",
    parsers: [
      "cli/check/facts.ts",
      "cli/check/key-facts.ts",
      "cli/check/entity-tag.ts",
      "cli/check/rules/keys.ts",
      "cli/check/rules/lifetime.ts",
      "cli/check/rules/purpose.ts",
      "cli/check/excerpt.ts",
    ],
    says: "judges any answer of a stranger, in plain text, and shows no private member",
    structure: "json",
    seeds: [
      {
        headers: { etag: '"a"', "cache-control": "max-age=300", "content-type": "application/jwk-set+json" },
        body: JWKS,
      },
      {
        headers: { etag: "W/x", age: "5", date: "Thu, 01 Jan 2026 00:00:00 GMT", expires: "0" },
        body: { keys: [EC_PRIVATE, { kty: "RSA", n: "AQ", e: "AQAB", x5c: ["AAAA"], x5t: "a" }] },
      },
      { headers: { "content-encoding": "gzip", "set-cookie": "a=b", vary: "*" }, body: "not JSON" },
    ].map((recording) => JSON.stringify(recording)),
    words: [
      "etag",
      "cache-control",
      "content-type",
      "content-encoding",
      "x5c",
      "x5t#S256",
      "use",
      "enc",
      "sig",
      "private",
      "jwks_uri",
    ],
    share: 0.5,
    check(input) {
      const { headers, body } = Object(jsonOr(input)) as { headers?: unknown; body?: unknown };
      const lines = Object.entries(Object(headers) as object).map(
        ([name, value]) => [name, String(typeof value === "object" ? "" : value)] as const,
      );
      const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
      const get = answer(lines, Buffer.from(text));
      const recording = {
        target: REQUEST.url,
        issuer: undefined,
        discovery: [],
        jwksUrl: REQUEST.url,
        redirects: [],
        probes: { get },
      };
      const rows = [false, true].flatMap((isStrict) => judge(readFacts(recording, isStrict)));
      for (const { seen, findings } of rows) {
        must(
          [seen, ...findings.flatMap((finding) => [finding.seen, finding.advice])].every(isPlain),
          "what is said has no control characters",
        );
      }
      must(!JSON.stringify(rows).includes(EC_PRIVATE.d), "no private member is shown");
      return rows.map(({ verdict }) => verdict[0]).join("");
    },
  },
  {
    name: "cli-discovery",
    parsers: ["cli/check/rules/discovery.ts"],
    says: "judges any discovery documents of a stranger, in plain text",
    structure: "json",
    seeds: [
      [
        {
          issuer: "https://op.example",
          jwks_uri: REQUEST.url,
          id_token_signing_alg_values_supported: ["ES256", "none", "RS256"],
        },
        { issuer: "https://op.example/", jwks_uri: "http://other.example/jwks#part" },
      ],
      [{ issuer: 7, jwks_uri: "/jwks" }, "not JSON"],
    ].map((documents) => JSON.stringify(documents)),
    words: ["issuer", "jwks_uri", "https://", "alg_values_supported", "userinfo_signing_alg_values_supported", "EdDSA"],
    share: 0.5,
    check(input) {
      const documents = jsonOr(input);
      const [first, second] = Array.isArray(documents) ? (documents as readonly unknown[]) : [documents];
      const exchangeOf = (document: unknown): Answer =>
        answer(
          [["content-type", "application/json"]],
          Buffer.from(typeof document === "string" ? document : (JSON.stringify(document) ?? "")),
        );
      const recording = {
        target: "https://op.example",
        issuer: "https://op.example",
        discovery: [
          { document: "openid-configuration", redirects: [], exchange: exchangeOf(first) },
          { document: "oauth-authorization-server", redirects: [], exchange: exchangeOf(second) },
        ] as const,
        jwksUrl: REQUEST.url,
        redirects: [],
        probes: { get: answer([["content-type", "application/jwk-set+json"]], Buffer.from(JSON.stringify(JWKS))) },
      };
      const rows = [false, true].flatMap((isStrict) => judge(readFacts(recording, isStrict)));
      for (const { seen, findings } of rows) {
        must(
          [seen, ...findings.flatMap((finding) => [finding.seen, finding.advice])].every(isPlain),
          "what is said has no control characters",
        );
      }
      return rows.map(({ verdict }) => verdict[0]).join("");
    },
  },
  {
    name: "cli-lifetime",
    parsers: ["cli/check/lifetime.ts", "core/http-date.ts"],
    says: "each time is a number that can be written, and not above what RFC 9111 allows",
    structure: "text",
    seeds: [
      "max-age=300, stale-while-revalidate=60\n10\nThu, 01 Jan 2026 00:00:00 GMT\n",
      'max-age="60", private\n5, 6\nx\nThu, 01 Jan 2026 01:00:00 GMT',
      `\n${"9".repeat(400)}\n\n0`,
      "s-maxage=1,s-maxage=2,no-cache\n-1",
    ],
    words: ["max-age=", "s-maxage=", "no-store", "must-revalidate", '"', "\\", "9".repeat(30), "GMT"],
    check(input) {
      const [cacheControl = "", age = "", date = "", expires = ""] = latin1(input).split("\n");
      const headers = Object.entries({ "cache-control": cacheControl, age, date, expires }).filter(
        ([, value]) => value !== "",
      );
      const given = answer(headers, new Uint8Array());
      const lifetime = lifetimeOf(given);
      const times = [
        lifetime.age,
        lifetime.staleFor,
        lifetime.freshFor ?? 0,
        lifetime.sharedFreshFor ?? 0,
        directSeconds(lifetime),
        sharedSeconds(lifetime),
        dateOf(given) ?? 0,
      ];
      must(
        times.every((time) => Number.isSafeInteger(time)),
        "each time is a whole number",
      );
      must(lifetime.age >= 0 && lifetime.age <= 2 ** 31, "an age is in its range");
      must(
        [...lifetime.directives.keys()].every((name) => name === name.toLowerCase()),
        "names are in lower case",
      );
      if (/^\s*no-store\s*(,|$)/i.test(cacheControl)) mustEqual(lifetime.freshFor, 0, "no-store is never fresh");
      return `${lifetime.freshFor === undefined}/${lifetime.isAgeStated}/${lifetime.directives.size > 1}`;
    },
  },
  {
    name: "cli-json-names",
    parsers: ["cli/check/json-names.ts"],
    says: "finds the names that an object has twice, in whatever way they are escaped",
    structure: "json",
    seeds: [
      JSON.stringify(JWKS),
      '{"a":1,"\\u0061":2}',
      '{"a":{"a":1},"b":["a","a"]}',
      '{"__proto__":1,"__proto__":2}',
      '["a:",{"x":"}","x":1}]',
    ],
    words: ['"a":', "\\u0061", '\\"', "{", "["],
    check(input) {
      const text = utf8(input);
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        return "not JSON";
      }
      const repeated = repeatedNames(text);
      mustEqual(
        repeated.length > 0,
        countNames(text) > countMembers(value),
        "names are there twice if the text has more than the value",
      );
      return String(Math.min(3, repeated.length));
    },
  },
  {
    name: "cli-answer-body",
    parsers: ["cli/check/content-coding.ts", "cli/check/entity-tag.ts"],
    says: "decodes at most a mebibyte, and says what is wrong with the rest",
    structure: "bytes",
    seeds: [
      gzipSync("{}"),
      gzipSync(Buffer.alloc(3_000_000)),
      "{}",
      Uint8Array.of(0x0b, 2, 0x80),
      Uint8Array.of(0x78, 0x9c, 3, 0),
    ],
    share: 0.3,
    check(input) {
      const outcomes = ["gzip", "x-gzip", "deflate", "br", "Identity ", "zstd"].map((coding) => {
        const body = decodedBody(answer([["Content-Encoding", coding]], input));
        must(
          typeof body === "string" ? isPlain(body) : body.length <= Math.max(1_048_576, input.length),
          "a body is not longer than allowed",
        );
        return typeof body === "string" ? body.slice(0, 20) : "read";
      });
      const tag = readEntityTag(latin1(input));
      must(tag?.value === latin1(input), "a tag is kept as it was sent");
      must(
        tag.kind === "malformed" || !/["\s\p{Cc}]/u.test(tag.value.replace(/^W\//, "").slice(1, -1)),
        "an opaque tag has no quotes and spaces",
      );
      return `${tag.kind}/${outcomes.join()}`;
    },
  },
  {
    name: "cli-token",
    parsers: ["cli/verify/token.ts", "cli/verify/words.ts"],
    says: "explains any token in plain words, and reads the same as core",
    structure: "jwt",
    seeds: [
      ES256_JWS,
      jws({ alg: "none", typ: "\u001b[31m" }, { exp: 1e300, iat: -1, nbf: 0.5, aud: ["a"], iss: {} }),
      jws({ kid: ["a"] }, { auth_time: 9e15, aud: "\u202e" }),
      jws([1], ["exp"]),
      "a.b",
    ],
    words: ["exp", "nbf", "aud", "iss", "auth_time", "kid", "__proto__"],
    check(input) {
      const token = latin1(input);
      const says = readToken(token);
      mustEqual(
        [says.header, says.claims].map((part) => ({ ...part })),
        Object.values(readSigningInput(token)),
        "core reads the same",
      );
      const words = [
        ...RULE_NAMES.map((rule) => ruleWords(rule, says, EXPECTED)),
        ...REFUSALS.map((code) => refusalWords(code, "a message", says, EXPECTED)),
        ...REFUSALS.map((code) => refusalHint(code, "a message", says) ?? ""),
      ];
      must(words.every(isPlain), "what is said has no control characters");
      must(
        words.every((text) => text.length < 2000),
        "what is said is short",
      );
      return `${typeof says.header["alg"]}/${firstAudience(says.claims) === undefined}`;
    },
  },
  {
    name: "cli-key-uri",
    parsers: ["cli/backends/aws-kms.ts", "cli/backends/azure-key-vault.ts", "cli/backends/vault-transit.ts"],
    says: "the command finds the same key as the adapter in each URI that the adapter accepts",
    structure: "text",
    seeds: [
      "awskms:///alias/op?region=eu-west-1",
      "awskms://127.0.0.1:4566/arn:aws:kms:eu-west-1:111122223333:key/a",
      "azurekms:///op.vault.azure.net/keys/a/0123456789abcdef0123456789abcdef",
      "azurekms://op.vault.azure.net/a",
      "vault:///team/keys/transit/keys/op?version=3",
      "AWSKMS://Kms.Internal:80/alias/op?scheme=http",
    ],
    words: ["alias/", "?region=", "&scheme=https", "/keys/", "?version=", ":443", "managedhsm", "localhost"],
    check(input, probe) {
      const uri = utf8(input);
      const rules = { mayShow: "the origin of an endpoint is shown" };
      const aws = probe.attempt(() => parseAwsUri(uri, { allowInsecureEndpoint: true }), rules);
      if (aws.ok) {
        const { endpoint, id, region } = kmsPlace(uri, {}, {});
        mustEqual(
          [id, endpoint === undefined ? undefined : new URL(endpoint).origin],
          [aws.value.key, aws.value.endpoint?.url],
          "AWS KMS: the same key at the same endpoint",
        );
        must(aws.value.region === undefined || region === aws.value.region, "AWS KMS: the same Region");
      }
      const azure = probe.attempt(() => parseAzureUri(uri), rules);
      const name = azureKeyName(uri);
      if (azure.ok && name !== undefined) {
        const { vault, key, keyVersion } = azure.value;
        mustEqual(
          [new URL(`https://${name.host}`).host, name.key, name.version],
          [vault.host, key, keyVersion],
          "Azure: the same version in the same vault",
        );
        mustEqual(
          isManagedHsm(name.host),
          vault.domain?.startsWith("managedhsm.") === true,
          "Azure: the same kind of vault",
        );
      }
      const vault = probe.attempt(() => parseVaultUri(uri));
      if (vault.ok) {
        const { mount, key, keyVersion } = vault.value;
        mustEqual(
          vaultKeyName(uri),
          { mount, key, version: keyVersion === undefined ? undefined : String(keyVersion) },
          "Vault: the same version of the same key",
        );
      }
      return `${aws.ok}/${azure.ok}/${vault.ok}`;
    },
  },
  {
    name: "cli-check-target",
    parsers: ["cli/check/probe/target.ts", "cli/check/probe/replicas.ts", "cli/network/private-address.ts"],
    says: "checks only URLs without credentials",
    structure: "text",
    seeds: [
      "https://op.example",
      "https://op.example/.well-known/openid-configuration",
      "http://op.example/.well-known/oauth-authorization-server/a",
      "10.0.0.7:8443,[::1]:443",
      "https://a,https://b",
      "https://user:secret@op.example",
      "64:ff9b:1::1,::",
    ],
    words: ["/.well-known/openid-configuration", "https://", "@", "#", "?", ",", ":65536", "[", "64:ff9b:1:"],
    check(input, probe) {
      const text = utf8(input);
      const target = probe.attempt(() => readTarget(text, false));
      const replicas = probe.attempt(() => readReplicas(text));
      if (target.ok)
        must(
          target.value.documents.every(({ url }) => URL.canParse(url) && new URL(url).username === ""),
          "each document has a URL",
        );
      if (replicas.ok)
        must(
          replicas.value.length > 1 &&
            replicas.value.every(({ address }) => address === undefined || address.port <= 65_535),
          "each replica has an address",
        );
      must(
        localTranslators(text.split(",")).every((prefix) => prefix.endsWith("::/96") || prefix.endsWith("/96")),
        "a prefix has 96 bits",
      );
      return `${target.ok ? target.value.kind : target.outcome}/${replicas.outcome}`;
    },
  },
  {
    name: "cli-refusal",
    parsers: ["cli/backends/azure-key-vault.ts", "cli/check/excerpt.ts"],
    says: "says only the codes of a refusal, and an excerpt in one line",
    structure: "json",
    seeds: [
      JSON.stringify({ error: { code: "Forbidden", innererror: { code: "ForbiddenByRbac" }, message: "who" } }),
      '"\u001b"',
      "[]",
    ],
    words: ["error", "code", "innererror", "\u202e", "\u00ad"],
    check(input) {
      const json = jsonOr(input);
      must(/^403(?: \w{1,60}){0,2}$/.test(azureRefusal({ status: 403, headers: {}, json })), "only codes are said");
      const shown = excerpt(utf8(input));
      must(isPlain(shown) && !shown.includes("\n") && shown.length < 2000, "an excerpt is one short line");
      return typeof json;
    },
  },
];

/** All names in the text of valid JSON, by a pattern that knows strings alone. */
function countNames(text: string): number {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/gs)].filter(([, colon]) => colon === ":").length;
}

function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, member) => sum + countMembers(member), 0);
  return (Array.isArray(value) ? 0 : Object.keys(value).length) + inner;
}
