import { parseIdentifier, readKeyName } from "../../../packages/azure-key-vault/src/key-name.ts";
import {
  readAttributes,
  readKey as readAzureKey,
  readSignature as readAzureSignature,
} from "../../../packages/azure-key-vault/src/answers.ts";
import { readAuthChallenges } from "../../../packages/azure-key-vault/src/auth-header.ts";
import { covers, parseChallenge } from "../../../packages/azure-key-vault/src/challenge.ts";
import { signerErrorFrom as azureError } from "../../../packages/azure-key-vault/src/errors.ts";
import { exchange as azureExchange, serviceErrorOf } from "../../../packages/azure-key-vault/src/exchange.ts";
import { createKidReader } from "../../../packages/azure-key-vault/src/kid.ts";
import { listVersions } from "../../../packages/azure-key-vault/src/list-versions.ts";
import {
  formatKeyUri as formatAzureUri,
  parseKeyUri as parseAzureUri,
} from "../../../packages/azure-key-vault/src/uri.ts";
import { parseVault } from "../../../packages/azure-key-vault/src/vault.ts";
import {
  creationTimeOf,
  publicKeyOf,
  readKey as readVaultKey,
  readSignature as readVaultSignature,
  refusalOf,
  versionNumbers,
} from "../../../packages/vault-transit/src/answers.ts";
import { errorOfAnswer, errorOfRequest } from "../../../packages/vault-transit/src/errors.ts";
import { exchange as vaultExchange } from "../../../packages/vault-transit/src/exchange.ts";
import { parseKey, parseMount, parseNamespace } from "../../../packages/vault-transit/src/key-name.ts";
import { createTokenCalls } from "../../../packages/vault-transit/src/token-calls.ts";
import {
  formatKeyUri as formatVaultUri,
  parseKeyUri as parseVaultUri,
} from "../../../packages/vault-transit/src/uri.ts";
import { coveringScope } from "../../../packages/cli/src/backends/azure-key-vault.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { MARKER } from "../engine/leaks.ts";
import { mustBecomeOurs } from "./backends-cloud.ts";
import { EC_PEM, EC_PUBLIC, jsonOr, latin1, RAW_SIGNATURE, utf8 } from "./material.ts";
import { derSignature, toBigInt } from "./oracles.ts";

const HOST = "op.vault.azure.net";
const VERSION = "0123456789abcdef0123456789abcdef";
const KID = `https://${HOST}/keys/id-token/${VERSION}`;
const VAULT = parseVault("vault", `https://${HOST}`);
const HEX = Buffer.from(RAW_SIGNATURE).toString("hex");
const DER = derSignature(toBigInt(RAW_SIGNATURE.subarray(0, 32)), toBigInt(RAW_SIGNATURE.subarray(32)));
const signal = new AbortController().signal;
const CALL = "read the key at https://vault.example:8200";
const PLACE = { action: "read transit/keys/op", address: "https://vault.example:8200" };

export const BACKENDS_HTTP: readonly Target[] = [
  {
    name: "azure-key-uri",
    parsers: ["azure-key-vault/uri.ts", "azure-key-vault/key-name.ts", "azure-key-vault/vault.ts"],
    says: "each form of a URI, and the URI that is written for the same key, mean the same key",
    structure: "text",
    seeds: [
      `azurekms:///${HOST}/keys/id-token/${VERSION}`,
      `azurekms://${HOST}/id-token`,
      `azurekms:name=id-token;vault=op?version=${VERSION}&hsm=false`,
      KID,
      "https://localhost/keys/op",
      "azurekms:///[::1]:8443/keys/op",
      "azurekms:///managed.managedhsm.azure.net/keys/a-b",
    ],
    words: [
      "azurekms:",
      "///",
      "/keys/",
      "name=",
      ";vault=",
      "?version=",
      ":443",
      "@",
      "%2f",
      "localhost",
      ".vault.azure.net",
    ],
    check(input, probe) {
      const text = utf8(input);
      const rules = { mayShow: "the origin of a vault is shown" };
      const read = text.toLowerCase().startsWith("https:")
        ? probe.attempt(() => parseIdentifier("key", text), rules)
        : probe.attempt(() => parseAzureUri(text), rules);
      if (!read.ok) return read.outcome;
      const written = formatAzureUri(read.value);
      const again = probe.attempt(() => parseAzureUri(written), rules);
      must(again.ok, `the URI that is written can be read`);
      mustEqual(again.value, read.value, "the URI that is written means the same key");
      const { vault, key, keyVersion } = read.value;
      mustEqual(
        readKeyName({ key, keyVersion, vault: vault.url }),
        read.value,
        "the options that are written mean the same key",
      );
      must(!vault.plaintext, "a vault has https");
      return `${vault.domain ?? "other"}/${keyVersion === undefined}`;
    },
  },
  {
    name: "azure-kid",
    parsers: ["azure-key-vault/kid.ts"],
    says: "accepts identifiers of versions of this key in this vault alone",
    structure: "text",
    seeds: [
      KID,
      KID.replace("id-token", "ID-TOKEN"),
      `http://${HOST}:443/keys/id-token/${VERSION}`,
      `https://other.vault.azure.net/keys/id-token/${VERSION}`,
    ],
    words: ["https://", "@", ":8443", "/keys/", "/", "?api-version=7.4", "%2e"],
    check(input, probe) {
      const text = utf8(input);
      const read = probe.attempt(() => createKidReader(VAULT, "id-token").versionOf(text, CALL));
      if (!read.ok) return read.outcome;
      const url = new URL(text);
      mustEqual(
        [url.hostname, url.pathname.split("/")[2]?.toLowerCase(), url.pathname.split("/")[3]],
        [HOST, "id-token", read.value],
        "the parts are those of the URL",
      );
      return url.protocol;
    },
  },
  {
    name: "azure-challenge",
    parsers: ["azure-key-vault/auth-header.ts", "azure-key-vault/challenge.ts"],
    says: "reads challenges of any server, and never gives a token for a resource that does not cover the vault",
    structure: "text",
    seeds: [
      'Bearer authorization="https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47", resource="https://vault.azure.net"',
      'Basic realm="a", Bearer scope=https://vault.azure.net/.default, error="insufficient_claims", claims="eyJhIjp7fX0="',
      'Bearer resource="https://op.vault.azure.net.evil.example"',
      'Bearer a="\\"b", c , NTLM',
    ],
    words: [
      "Bearer ",
      "resource=",
      "scope=",
      "authorization=",
      "claims=",
      '"',
      "\\",
      "https://",
      ".",
      "@",
      "/.default",
      "azure.net",
    ],
    longest: 16_384,
    check(input) {
      const header = latin1(input);
      const challenges = readAuthChallenges(header);
      for (const { scheme, parameters } of challenges) {
        must(
          scheme === scheme.toLowerCase() && [...parameters.keys()].every((name) => name === name.toLowerCase()),
          "names are in lower case",
        );
      }
      const asked = coveringScope(header, HOST);
      must(
        asked === undefined || covers(asked, HOST),
        "the command asks for no token that the adapter would not ask for",
      );
      const challenge = parseChallenge(header);
      if (challenge === undefined) return `none of ${Math.min(3, challenges.length)}`;
      const { scope, tenantId, claims } = challenge;
      if (claims !== undefined) must(typeof JSON.parse(claims) === "object", "claims are JSON");
      if (scope !== undefined && covers(scope, HOST)) {
        const { hostname, username, search } = new URL(scope);
        must(
          `.${HOST}`.endsWith(`.${hostname}`) && hostname.includes("."),
          "a resource that covers the vault is its host, or a domain above it",
        );
        mustEqual([username, search], ["", ""], "a scope is one resource");
      }
      must(
        !covers(scope ?? "", "evil.example") || scope === undefined || new URL(scope).hostname.endsWith("example"),
        "a resource covers no other host",
      );
      return `${scope === undefined}/${tenantId === undefined}/${claims === undefined}`;
    },
  },
  {
    name: "azure-answer",
    parsers: [
      "azure-key-vault/answers.ts",
      "azure-key-vault/exchange.ts",
      "azure-key-vault/kid.ts",
      "azure-key-vault/error-table.ts",
    ],
    says: "takes a key or a signature only from a complete answer about this version",
    structure: "json",
    seeds: [
      {
        key: { ...EC_PUBLIC, kty: "EC-HSM", kid: KID, key_ops: ["sign", "verify"] },
        attributes: { enabled: true, created: 1_700_000_000, exp: 2_000_000_000, recoveryLevel: "Recoverable" },
      },
      { kid: KID, value: Buffer.from(RAW_SIGNATURE).toString("base64url") },
      { error: { code: "Forbidden", message: "no", innererror: { code: "ForbiddenByRbac" } } },
    ].map((answer) => JSON.stringify(answer)),
    words: [KID, VERSION, "P-384", "EC", "RSA", "nbf", "innererror"],
    share: 0.5,
    async check(input, probe) {
      const kids = createKidReader(VAULT, "id-token");
      const answers = await Promise.all(
        [200, 403].map((status) =>
          probe.settle(() =>
            azureExchange(
              {
                request: async () => ({ statusCode: status, headers: { "retry-after": "5" }, body: [input] }),
              },
              VAULT.url,
              { method: "GET", path: "/" },
              undefined,
              signal,
            ),
          ),
        ),
      );
      for (const answer of answers)
        if (answer.ok && answer.value.status === 403)
          must(typeof serviceErrorOf(answer.value).message === "string", "an error has a text");
      const [answer] = answers;
      if (answer?.ok !== true) return answer?.outcome ?? "no answer";
      const { json } = answer.value;
      const key = probe.attempt(() => readAzureKey(json, VERSION, kids, CALL));
      const signature = probe.attempt(() =>
        readAzureSignature(json, VERSION, createKidReader(VAULT, "id-token"), CALL),
      );
      const attributes = probe.attempt(() => readAttributes(json, VERSION, CALL));
      if (key.ok)
        mustEqual(
          [key.value.keyVersion, key.value.publicKey.x],
          [VERSION, EC_PUBLIC.x],
          "the key is the one that was asked for",
        );
      if (signature.ok) must(signature.value.length === 64, "a signature has 64 bytes");
      if (attributes.ok)
        must(
          attributes.value.created === undefined || !Number.isNaN(attributes.value.created.getTime()),
          "a date is a date",
        );
      return `${key.outcome}/${signature.outcome}/${attributes.outcome}`;
    },
  },
  {
    name: "azure-versions",
    parsers: ["azure-key-vault/list-versions.ts"],
    says: "lists versions of this key alone, each with a date, and asks for pages of this list alone",
    structure: "json",
    seeds: [
      [
        {
          value: [{ kid: KID, attributes: { enabled: true, created: 1_700_000_000, exp: 2_000_000_000 } }],
          nextLink: `https://${HOST}:443/keys/ID-TOKEN/versions?api-version=7.4&$skiptoken=a`,
        },
        {
          value: [{ kid: KID.replace(/f$/, "0"), attributes: { enabled: false, created: 1, nbf: 2 } }],
          nextLink: null,
        },
      ],
      [{ value: [], nextLink: "https://other.vault.azure.net/keys/id-token/versions" }],
    ].map((pages) => JSON.stringify(pages)),
    words: [KID, "nextLink", "created", "https://", `@${HOST}`, "/keys/id-token/versions", "..", "%2f", "\\"],
    share: 0.5,
    async check(input, probe) {
      const pages = jsonOr(input);
      const asked: string[] = [];
      const api = {
        listKeyVersions: async ({ nextLink }: { readonly nextLink: string | undefined }) => {
          if (nextLink !== undefined) asked.push(nextLink);
          return Array.isArray(pages) ? ((pages[asked.length] as unknown) ?? { value: [] }) : pages;
        },
      };
      const name = { vault: VAULT, key: "id-token", keyVersion: undefined };
      const place = { api: api as never, name, kids: createKidReader(VAULT, "id-token"), trouble: () => undefined };
      const listed = await probe.settle(() => listVersions(place, { signal, timeoutMs: 1000 }));
      for (const link of asked) {
        const { protocol, hostname, pathname } = new URL(link);
        mustEqual(
          [protocol, hostname, pathname.toLowerCase()],
          ["https:", HOST, "/keys/id-token/versions"],
          "the next page is one of this list",
        );
      }
      if (!listed.ok) return listed.outcome;
      const ages = listed.value.map(({ created }) => created.getTime());
      must(
        listed.value.every(({ keyVersion }) => /^[0-9A-Za-z]{32}$/.test(keyVersion)) &&
          ages.every((age, index) => !Number.isNaN(age) && age >= (ages[index - 1] ?? 0)),
        "each version has a name and a date, and the oldest is the first",
      );
      return `${Math.min(3, listed.value.length)}/${asked.length}`;
    },
  },
  {
    name: "azure-error",
    parsers: ["azure-key-vault/errors.ts", "azure-key-vault/error-table.ts"],
    says: "makes a SignerError of whatever a client throws",
    structure: "json",
    seeds: [
      { statusCode: 403, code: "Forbidden", innerCode: "ForbiddenByRbac" },
      { code: "UND_ERR_SOCKET", message: "closed" },
      { name: "HTTPParserError", code: "HPE_INVALID" },
      { message: "Proxy response (407) !== 200 when HTTP Tunneling" },
    ].map((error) => JSON.stringify(error)),
    words: ["UND_ERR_SOCKS5", "statusCode", "requestId", "ENOTFOUND"],
    check: (input) => mustBecomeOurs((error) => azureError(error, CALL), input),
  },
  {
    name: "vault-key-uri",
    parsers: ["vault-transit/uri.ts", "vault-transit/key-name.ts"],
    says: "a URI and the URI that is written for the same key mean the same key",
    structure: "text",
    seeds: [
      "vault:///transit/keys/op?version=3",
      "vault:///team/keys/transit/keys/op",
      "VAULT:///a.b/keys/c-d",
      "vault:///transit/keys/op",
    ],
    words: ["vault:///", "/keys/", "?version=", "0", "2147483648", "..", "//", "%2f", "#", "-"],
    check(input, probe) {
      const read = probe.attempt(() => parseVaultUri(utf8(input)));
      if (!read.ok) return read.outcome;
      const { mount, key, keyVersion } = read.value;
      mustEqual(
        parseVaultUri(formatVaultUri({ mount, key }, keyVersion)),
        read.value,
        "the URI that is written means the same key",
      );
      mustEqual(
        [parseMount("mount", mount), parseKey("key", key), parseNamespace("namespace", `${mount}/`)],
        [mount, key, mount],
        "the options take the same names",
      );
      mustEqual(
        new URL(`/v1/${mount}/keys/${key}`, "https://v").pathname,
        `/v1/${mount}/keys/${key}`,
        "no parser changes the path of the request",
      );
      return `${mount.includes("/")}/${keyVersion === undefined}`;
    },
  },
  {
    name: "vault-answer",
    parsers: [
      "vault-transit/answers.ts",
      "vault-transit/exchange.ts",
      "vault-transit/errors.ts",
      "vault-transit/error-table.ts",
    ],
    says: "takes a key or a signature only from a complete answer about this version, and never shows the token",
    structure: "json",
    seeds: [
      {
        data: {
          type: "ecdsa-p256",
          latest_version: 3,
          min_available_version: 0,
          min_decryption_version: 1,
          min_encryption_version: 0,
          keys: { 3: { public_key: EC_PEM, creation_time: "2026-01-01T00:00:00.123456789Z" } },
        },
      },
      { data: { signature: `vault:v3:${Buffer.from(DER).toString("base64")}`, key_version: 3 } },
      { errors: ["permission denied", "version is less than the minimum"] },
    ].map((answer) => JSON.stringify(answer)),
    words: ["vault:v3:", "vault:v03:", "ecdsa-p384", "3", "creation_time", "exportable", "auto_rotate_period"],
    share: 0.5,
    async check(input, probe) {
      const ask = (statusCode: number) => () =>
        vaultExchange(
          {
            dispatcher: { request: async () => ({ statusCode, headers: {}, body: [input] }) },
            origin: PLACE.address,
            origins: new Set(),
            namespace: undefined,
          },
          { method: "GET", path: "transit/keys/op" },
          MARKER,
          signal,
        );
      // The marker is the token of the request here, so an error may show an answer with a part of it, but not with all of it.
      const repeats = JSON.stringify(Reflect.get(Object(jsonOr(input)), "errors") ?? "").includes(MARKER);
      const refused = await probe.settle(
        async () => {
          throw errorOfAnswer(await ask(400)(), PLACE);
        },
        repeats ? {} : { mayShow: "the message of the server is the cause" },
      );
      const answer = await probe.settle(ask(200));
      if (!answer.ok) return `${answer.outcome}/${refused.outcome}`;
      const data: unknown = Reflect.get(Object(answer.value.json), "data");
      const key = probe.attempt(() => readVaultKey(data, CALL));
      const signature = probe.attempt(() => readVaultSignature(data, 3, CALL));
      if (signature.ok)
        mustEqual(Buffer.from(signature.value).toString("hex").length, HEX.length, "a signature has 64 bytes");
      if (!key.ok) return `${key.outcome}/${signature.outcome}/${refused.outcome}`;
      const { value } = key;
      const parts = [
        probe.attempt(() => publicKeyOf(value, 3, CALL)),
        probe.attempt(() => creationTimeOf(value, 3, CALL)),
      ];
      must(
        versionNumbers(value).every((number) => Number.isSafeInteger(number) && number > 0),
        "versions are numbers from 1",
      );
      return [...parts.map(({ outcome }) => outcome), refusalOf(value, 3, CALL)?.code].join("/");
    },
  },
  {
    name: "vault-login",
    parsers: ["vault-transit/token-calls.ts"],
    says: "takes a token and its lease only from a complete answer",
    structure: "json",
    seeds: [
      { auth: { client_token: "hvs.abc", lease_duration: 3600, renewable: true } },
      { data: { ttl: 0, renewable: false } },
      { errors: ["invalid secret id"] },
    ].map((answer) => JSON.stringify(answer)),
    words: ["client_token", "lease_duration", "ttl", "hvs.abc def"],
    share: 0.5,
    async check(input, probe) {
      const json = jsonOr(input);
      const requester = {
        address: PLACE.address,
        namespace: undefined,
        send: async () => ({
          status: 200,
          json,
          errors: [],
          hasErrors: false,
          repeatsSecrets: false,
          retryAfter: undefined,
        }),
        close: async () => undefined,
      };
      const calls = createTokenCalls(requester, 1000);
      const lease = await probe.settle(() =>
        calls.logIn({ path: "auth/approle/login", body: {}, secrets: [], namespace: undefined }),
      );
      const known = await probe.settle(() => calls.lookUp("hvs.abc"));
      for (const each of [lease, known]) {
        if (each.ok) must(each.value.leaseMs > 0, "a lease is not over when it begins");
      }
      if (lease.ok) must(/^[\x21-\x7e]+$/.test(lease.value.token), "a token fits into a header");
      return `${lease.outcome}/${known.outcome}`;
    },
  },
  {
    name: "vault-error",
    parsers: ["vault-transit/errors.ts", "vault-transit/error-table.ts"],
    says: "makes a SignerError of whatever a client throws",
    structure: "json",
    seeds: [
      { code: "UND_ERR_SOCKET", message: "closed" },
      { code: "UND_ERR_RESPONSE", statusCode: 503 },
      { message: "Proxy response (407) !== 200 when HTTP Tunneling" },
    ].map((error) => JSON.stringify(error)),
    words: ["UND_ERR_SOCKS5", "HTTPParserError", "statusCode", "x-vault-token"],
    check: (input) => mustBecomeOurs((error) => errorOfRequest(error, PLACE, []), input),
  },
];
