import { describe, expect, test } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import {
  classify,
  isConnectionLoss,
  isCredentialRefusal,
  isKnownName,
  isUnreachable,
  nameOf,
} from "../src/error-table.ts";

const named = (name: string, members: object = {}): object => ({ name, message: "made up", ...members });

describe("an HTTP status alone", () => {
  test.each<[status: number, code: SignerErrorCode, text: RegExp]>([
    [199, "unavailable", /^something other than AWS answered: HTTP status 199$/],
    [200, "integrity", /^the answer is truncated or is not from KMS$/],
    [201, "unavailable", /something other than AWS answered/],
    [399, "unavailable", /something other than AWS answered/],
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

  // The names of the SDK and of the own transport for an answer without an error code.
  test.each(["SyntaxError", "Unknown", "UnknownError", "NotFound"])(
    "of an answer without a code of AWS (%s) is another's",
    (name) => {
      for (const httpStatusCode of [401, 403]) {
        expect(classify(named(name, { $metadata: { httpStatusCode } })).code).toBe("access_denied");
      }
      expect(classify(named(name, { $metadata: { httpStatusCode: 400 } })).code).toBe("invalid_argument");
      for (const httpStatusCode of [404, 405, 407, 421, 499]) {
        expect(classify(named(name, { $metadata: { httpStatusCode } }))).toEqual({
          code: "unavailable",
          text: `something other than AWS answered: HTTP status ${httpStatusCode}`,
        });
      }
    },
  );

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
    [{ code: "XEIO" }, "access_denied", `${FILE}XEIO`],
    [{ code: "EIOX" }, "access_denied", `${FILE}EIOX`],
    [{ code: "EACCES", path: "eyJ.token" }, "access_denied", `${FILE}EACCES`],
    [{ code: "EACCES", path: "/eyJ token" }, "access_denied", `${FILE}EACCES`],
    [{ code: "EACCES", path: "/run/" }, "access_denied", `${FILE}EACCES`],
    [{ code: "EACCES", path: Buffer.from("/run/token") }, "access_denied", `${FILE}EACCES`],
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
