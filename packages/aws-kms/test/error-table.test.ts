import { describe, expect, test } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import { CredentialsError, credentialsErrorFrom, providerRow, sourceRow } from "../src/credential-errors.ts";
import type { SourceRequest } from "../src/credential-requests.ts";
import {
  classify,
  isConnectionLoss,
  isCredentialRefusal,
  isKnownName,
  isUnreachable,
  nameOf,
} from "../src/error-table.ts";
import { isKeyArn, isKeyArnFor, looksLikeAlias, parseKeyName, regionIn } from "../src/key-name.ts";

const named = (name: string, members: object = {}): object => ({ name, message: "made up", ...members });

describe("an HTTP status alone", () => {
  test.each<[status: number, code: SignerErrorCode, text: RegExp]>([
    [199, "unavailable", /^something other than KMS answered: HTTP status 199$/],
    [200, "integrity", /^the answer is truncated or is not from KMS$/],
    [201, "unavailable", /something other than KMS answered/],
    [399, "unavailable", /something other than KMS answered/],
    [400, "invalid_argument", /^the service refused the request with HTTP status 400$/],
    [401, "access_denied", /^refused with HTTP status 401$/],
    [403, "access_denied", /^refused with HTTP status 403$/],
    [404, "invalid_argument", /HTTP status 404$/],
    [408, "timeout", /^no answer in time$/],
    [429, "throttled", /^over a request quota$/],
    [499, "invalid_argument", /HTTP status 499$/],
    [500, "unavailable", /^the service is temporarily unavailable: HTTP status 500$/],
    [504, "timeout", /^no answer in time$/],
  ])("%i is %s", (httpStatusCode, code, text) => {
    const row = classify(named("SomethingNew", { $metadata: { httpStatusCode } }));
    expect(row).toMatchObject({ code, text: expect.stringMatching(text) as string });
    expect(row.transient).toBe(httpStatusCode === 200 ? true : undefined);
  });

  test.each([{}, { $metadata: {} }, { $metadata: { httpStatusCode: "200" } }])("is none in %j", (members) => {
    expect(classify(named("SomethingNew", members))).toMatchObject({
      code: "integrity",
      text: "the client failed for an unknown reason",
    });
  });
});

describe("the state of a key is in the message", () => {
  test.each<[message: string, code: SignerErrorCode, text: string]>([
    ["arn:x is creating.", "unavailable", "the key is still being created"],
    ["arn:x is being created", "unavailable", "the key is still being created"],
    ["arn:x is in state Creating", "unavailable", "the key is still being created"],
    ["arn:x is pending deletion.", "key_disabled", "the key is pending deletion"],
    ["arn:x is pending replica deletion.", "key_disabled", "the key is pending deletion"],
    ["state PendingDeletion", "key_disabled", "the key is pending deletion"],
    ["state PendingReplicaDeletion", "key_disabled", "the key is pending deletion"],
    ["arn:x is pending import.", "key_disabled", "the key has no key material yet (pending import)"],
    ["state PendingImport", "key_disabled", "the key has no key material yet (pending import)"],
    ["arn:x is unavailable.", "key_disabled", "the key's state does not allow this call"],
  ])("%j is %s", (message, code, text) => {
    expect(classify(named("KMSInvalidStateException", { message }))).toEqual({ code, text });
    // Of another error it says nothing.
    expect(classify(named("ValidationException", { message })).code).toBe("invalid_argument");
  });
});

describe("a system error", () => {
  test.each<[code: string, isLoss: boolean, isAway: boolean]>([
    ["ECONNRESET", true, true],
    ["EPIPE", true, true],
    ["ETIMEDOUT", true, true],
    ["ECONNREFUSED", false, true],
    ["ENOTFOUND", false, true],
    ["ERR_HTTP2_STREAM_ERROR", false, true],
    ["CERT_HAS_EXPIRED", false, true],
    ["HPE_INVALID_CONSTANT", false, true],
    ["ERR_INVALID_CHAR", false, false],
    ["ERR_INVALID_ARG_TYPE", false, false],
    ["x", false, false],
  ])("%s is a loss of the connection: %s; a service that is away: %s", (code, isLoss, isAway) => {
    expect([isConnectionLoss({ code }), isUnreachable({ code })]).toEqual([isLoss, isAway]);
  });

  test("of the client is known by its name", () => {
    expect(isConnectionLoss(named("TimeoutError"))).toBe(true);
    expect(isConnectionLoss(named("AbortError"))).toBe(false);
    expect(classify(named("AbortError"))).toEqual({ code: "unavailable", text: "the client ended the call" });
    expect([nameOf(named("x")), nameOf({ name: 7 }), nameOf(undefined)]).toEqual(["x", "", ""]);
  });

  const FILE = "could not get credentials: ";
  test.each<[members: object, code: SignerErrorCode, text: string]>([
    [{ code: "ENOENT", path: "/run/token" }, "access_denied", `${FILE}the file /run/token cannot be read: ENOENT`],
    [{ code: "EMFILE", path: "/run/token" }, "unavailable", `${FILE}the file /run/token cannot be read: EMFILE`],
    [{ code: "ENFILE" }, "unavailable", `${FILE}ENFILE`],
    [{ code: "EIO" }, "unavailable", `${FILE}EIO`],
    [{ code: "ESTALE" }, "unavailable", `${FILE}ESTALE`],
    [{ code: "EACCES", path: "eyJ.token" }, "access_denied", `${FILE}EACCES`],
    [{ code: "EACCES", path: "/eyJ token" }, "access_denied", `${FILE}EACCES`],
    [{ code: "EACCES", path: "/run/" }, "access_denied", `${FILE}EACCES`],
    [
      { code: "EACCES", path: `/${"a".repeat(64)}` },
      "access_denied",
      `${FILE}the file /${"a".repeat(64)} cannot be read: EACCES`,
    ],
    [{ code: "EACCES", path: `/${"a".repeat(65)}` }, "access_denied", `${FILE}EACCES`],
    [
      { code: "EACCES", path: "/a".repeat(16) },
      "access_denied",
      `${FILE}the file ${"/a".repeat(16)} cannot be read: EACCES`,
    ],
    [{ code: "EACCES", path: "/a".repeat(17) }, "access_denied", `${FILE}EACCES`],
  ])("of a file with %j is %s", (members, code, text) => {
    expect(classify({ ...members, syscall: "open" })).toEqual({ code, text });
  });

  test("EISDIR is of a file, whatever the call", () => {
    expect(classify({ code: "EISDIR", syscall: "read" })).toMatchObject({ code: "access_denied" });
    expect(classify({ code: "EIO", syscall: "read" })).toMatchObject({ text: "the service cannot be reached" });
  });
});

test.each<[name: string, isRefusal: boolean]>([
  ["ExpiredTokenException", true],
  ["SignatureDoesNotMatch", true],
  ["AccessDeniedException", false],
  ["CredentialsProviderError", false],
  ["SomethingNew", false],
])("%s is a refusal of credentials: %s", (name, isRefusal) => {
  expect(isCredentialRefusal(named(name))).toBe(isRefusal);
  expect(isKnownName(name)).toBe(name !== "SomethingNew");
});

describe("credentials that did not come", () => {
  const asked = (members: Partial<SourceRequest>): SourceRequest => ({
    source: "sso",
    origin: "https://sso.example",
    status: undefined,
    ...members,
  });
  const PREFIX = "could not get credentials";
  const SOURCE = "their source, https://sso.example,";
  const UNREADABLE = `${PREFIX}: the answer of their source is unreadable`;
  const provider = named("CredentialsProviderError");

  test.each<[what: string, error: object, last: SourceRequest | undefined, code: SignerErrorCode, text: string]>([
    ["no source", provider, undefined, "access_denied", PREFIX],
    ["a source that is silent", provider, asked({}), "unavailable", `${PREFIX}: ${SOURCE} is unreachable`],
    [
      "a source without an origin",
      provider,
      asked({ origin: undefined }),
      "unavailable",
      `${PREFIX}: their source is unreachable`,
    ],
    ["no metadata service, which most machines lack", provider, asked({ source: "metadata" }), "access_denied", PREFIX],
    [
      "an answer that ended early",
      provider,
      asked({ source: "container", status: 200, response: { complete: false } }),
      "unavailable",
      `${PREFIX}: ${SOURCE} is unreachable`,
    ],
    [
      "an answer without credentials",
      provider,
      asked({ source: "container", status: 200, response: { complete: true } }),
      "access_denied",
      PREFIX,
    ],
    ["status 299", provider, asked({ source: "container", status: 299 }), "access_denied", PREFIX],
    ["status 300", provider, asked({ status: 300 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 300`],
    ["status 399", provider, asked({ status: 399 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 399`],
    ["status 400", provider, asked({ status: 400 }), "access_denied", `${PREFIX}: ${SOURCE} answered HTTP status 400`],
    ["status 408", provider, asked({ status: 408 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 408`],
    ["status 429", provider, asked({ status: 429 }), "throttled", `${PREFIX}: ${SOURCE} answered HTTP status 429`],
    ["status 499", provider, asked({ status: 499 }), "access_denied", `${PREFIX}: ${SOURCE} answered HTTP status 499`],
    ["status 500", provider, asked({ status: 500 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 500`],
    [
      "a lost connection in a message",
      { ...provider, message: "connect ECONNREFUSED" },
      undefined,
      "unavailable",
      `${PREFIX}: their source is unreachable`,
    ],
    [
      "a service that is down in a message",
      { ...provider, message: "Error: ServiceUnavailable" },
      undefined,
      "unavailable",
      `${PREFIX}: their source is unreachable`,
    ],
    [
      "a system error",
      { ...provider, code: "ENOTFOUND" },
      undefined,
      "unavailable",
      `${PREFIX}: their source is unreachable`,
    ],
    ["an answer that is not JSON", named("SyntaxError"), asked({ status: 200 }), "unavailable", UNREADABLE],
    [
      "JSON in a message",
      { ...provider, message: "is not valid JSON" },
      asked({ source: "container", status: 200 }),
      "unavailable",
      UNREADABLE,
    ],
    ["a successful answer of SSO that helped nothing", provider, asked({ status: 200 }), "unavailable", UNREADABLE],
    [
      "a role that fits into no path",
      named("TypeError", { code: "ERR_UNESCAPED_CHARACTERS" }),
      asked({ source: "metadata", status: 200 }),
      "unavailable",
      UNREADABLE,
    ],
    [
      "an answer of STS without credentials",
      { ...provider, message: "Invalid response from STS.assumeRole call" },
      undefined,
      "unavailable",
      UNREADABLE,
    ],
    [
      "an endpoint of a container with another protocol",
      named("TypeError", { code: "ERR_INVALID_PROTOCOL" }),
      asked({ source: "container" }),
      "unavailable",
      `${PREFIX}: ${SOURCE} is unreachable`,
    ],
    ["a refusal of STS", named("AccessDenied"), undefined, "access_denied", `${PREFIX}: not allowed by a policy`],
    ["a throttled STS", named("Throttling"), undefined, "throttled", `${PREFIX}: over a request quota`],
    ["a silent STS", named("TimeoutError"), undefined, "timeout", `${PREFIX}: no answer in time`],
    [
      "an STS that cannot be reached",
      { code: "ENOTFOUND" },
      undefined,
      "unavailable",
      `${PREFIX}: the service cannot be reached`,
    ],
    [
      "an unknown error of STS",
      named("SomethingNew"),
      undefined,
      "access_denied",
      `${PREFIX}: the client failed for an unknown reason`,
    ],
    ["a cut answer of STS", named("x", { $metadata: { httpStatusCode: 200 } }), undefined, "unavailable", UNREADABLE],
    [
      "a token file that is missing",
      { code: "ENOENT", syscall: "open" },
      undefined,
      "access_denied",
      `${PREFIX}: ENOENT`,
    ],
  ])("because of %s", (_what, error, last, code, text) => {
    const found = credentialsErrorFrom(error, last);
    expect(found).toMatchObject({ name: "CredentialsError", message: text, row: { code, text }, cause: error });
    expect(credentialsErrorFrom(found, undefined)).toBe(found);
  });

  test("are not what another error is about", () => {
    const kms = named("SyntaxError", { $metadata: { httpStatusCode: 200 } });
    expect(sourceRow(kms, asked({ status: 200 }))).toBeUndefined();
    expect(sourceRow(named("SyntaxError"), asked({ status: 300 }))).toBeUndefined();
    expect(sourceRow(named("SyntaxError"), undefined)).toBeUndefined();
    expect(sourceRow(named("AccessDenied"), asked({ status: 200 }))).toBeUndefined();
    expect(providerRow(named("TypeError", { code: "ERR_INVALID_PROTOCOL" }), asked({}))).toBeUndefined();
    expect(new CredentialsError({ code: "timeout", text: "late" }, undefined).message).toBe("late");
  });
});

describe("the name of a key", () => {
  const UUID = "1234abcd-12ab-34cd-56ef-1234567890ab";
  const ARN = `arn:aws:kms:eu-west-1:111122223333:key/${UUID}`;
  const ALIAS = "arn:aws:kms:eu-west-1:111122223333:alias/op/2026";

  test.each<[key: string, kind: string, region: string | undefined]>([
    [ARN, "key-arn", "eu-west-1"],
    [ARN.replace("aws", "aws-us-gov"), "key-arn", "eu-west-1"],
    [ALIAS, "alias-arn", "eu-west-1"],
    ["alias/op_2026-x/y", "alias", undefined],
    [UUID, "key-id", undefined],
  ])("%s is of the kind %s", (key, kind, region) => {
    const name = parseKeyName("key", key);
    expect([name.kind, regionIn(name)]).toEqual([kind, region]);
    expect(isKeyArn(key)).toBe(kind === "key-arn");
  });

  test.each<[key: string, isFor: boolean]>([
    [ARN, true],
    [ARN.replace("1234abcd", "1234abce"), false],
    [UUID, true],
    [UUID.replace("1234abcd", "1234abce"), false],
    [ALIAS, true],
    [ALIAS.replace("eu-west-1", "eu-west-2"), false],
    [ALIAS.replace("111122223333", "111122223334"), false],
    ["alias/op", true],
  ])("%s can be that of the answer's key: %s", (key, isFor) => {
    expect(isKeyArnFor(ARN, key)).toBe(isFor);
    expect([isKeyArnFor(ALIAS, key), isKeyArnFor("x", key)]).toEqual([false, false]);
  });

  test.each<[key: string, isAlias: boolean]>([
    [UUID, false],
    [UUID.toUpperCase(), false],
    [`mrk-${"0".repeat(32)}`, false],
    [`mrk-${"0".repeat(31)}`, true],
    [`${UUID}0`, true],
    ["op-2026", true],
    ["alias/op", false],
  ])("%s is probably meant as an alias: %s", (key, isAlias) => {
    expect(looksLikeAlias(key)).toBe(isAlias);
  });
});
