import { describe, expect, test } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import { isConnectionLoss, rowOfError } from "../src/error-table.ts";

// Each row of the tables once, with the text.

const DENIED = "the caller lacks the permission";
const RBAC = `${DENIED}: no role assignment allows it (Key Vault Crypto User, or a role with its data actions)`;
const POLICY = `${DENIED}: the vault's access policy does not allow it`;
const HSM = `${DENIED}: no local role assignment of the Managed HSM allows it (Managed HSM Crypto User, or a role with its data actions)`;
const FIREWALL = "the vault's firewall does not allow the caller's network address";
const CONNECTION = "the vault accepts private endpoints only, and this connection does not come from one";
const OUTSIDE = "the version of the key has expired (exp) or is not valid yet (nbf)";

test.each<[name: string, code: SignerErrorCode, text: string]>([
  ["ForbiddenByRbac", "access_denied", RBAC],
  ["ForbiddenByPolicy", "access_denied", POLICY],
  ["ForbiddenByFirewall", "access_denied", FIREWALL],
  ["ForbiddenByConnection", "access_denied", CONNECTION],
  ["KeyDisabled", "key_disabled", "the version of the key is disabled"],
  ["KeyExpired", "key_disabled", "the version of the key has expired (exp)"],
  ["KeyNotYetValid", "key_disabled", "the version of the key is not valid yet (nbf)"],
  ["KeyNotYetValidOrExpired", "key_disabled", OUTSIDE],
  ["KeyNotFound", "key_not_found", "there is no such key, or no such version of it"],
  ["SecretNotFound", "key_not_found", "there is no such key, or no such version of it"],
  ["VaultNotFound", "key_not_found", "there is no such vault"],
  ["ObjectIsDeletedButRecoverable", "key_disabled", "the key is soft-deleted, and can be recovered"],
  ["ObjectIsBeingDeleted", "key_disabled", "the key is being deleted"],
  ["ObjectIsBeingRecovered", "unavailable", "the key is being recovered"],
])("the service's code %s is %s", (name, code, text) => {
  for (const statusCode of [400, 499]) {
    expect(rowOfError({ statusCode, code: name })).toEqual({ code, text: `${text} (${name})` });
    expect(rowOfError({ statusCode, code: "Forbidden", innerCode: name })).toEqual({
      code,
      text: `${text} (Forbidden, ${name})`,
    });
  }
  for (const statusCode of [399, 500]) expect(rowOfError({ statusCode, code: name }).code).toBe("unavailable");
});

test.each(["AccessDenied", "BadParameter", "Conflict", "Forbidden", "Throttled", "Unauthorized"])(
  "the code %s is shown",
  (code) => {
    expect(rowOfError({ statusCode: 500, code }).text).toBe(
      `the vault is temporarily unavailable: HTTP status 500 (${code})`,
    );
  },
);

test("a code that is not known is not shown", () => {
  expect(rowOfError({ statusCode: 500, code: "secret", innerCode: "secret" }).text).not.toContain("secret");
});

test.each<[message: string, code: SignerErrorCode, text: string]>([
  ["Operation sign is not allowed on a Disabled Key.", "key_disabled", "the version of the key is disabled"],
  ["Operation is not permitted on this key", "unsupported_key", "the key_ops of the key do not contain sign"],
  ["its KEY_OPS", "unsupported_key", "the key_ops of the key do not contain sign"],
  ["outside its Validity Period", "key_disabled", OUTSIDE],
  ["NBF and exp", "key_disabled", OUTSIDE],
  ["the key has Expired", "key_disabled", "the version of the key has expired (exp)"],
  ["unexpired", "access_denied", "the vault refused the caller, without a reason"],
  ["is not yet valid", "key_disabled", "the version of the key is not valid yet (nbf)"],
  ["is not active", "key_disabled", "the version of the key is not valid yet (nbf)"],
  ["used before its nbf", "key_disabled", "the version of the key is not valid yet (nbf)"],
  ["Not authorized to access Microsoft.KeyVault/managedHsm/keys", "access_denied", HSM],
  ["Client address is not authorized", "access_denied", FIREWALL],
  ["by the Firewall", "access_denied", FIREWALL],
  ["no Private Link", "access_denied", CONNECTION],
  ["Public network access is disabled", "access_denied", CONNECTION],
  ["The user does not have keys sign permission", "access_denied", POLICY],
  ["Caller is not authorized to perform action", "access_denied", RBAC],
  ["made up", "access_denied", "the vault refused the caller, without a reason"],
])("403 with the message %j is %s", (message, code, text) => {
  expect(rowOfError({ statusCode: 403, code: "made up", message })).toEqual({ code, text });
});

test.each<[error: object, text: string]>([
  [{ code: "Forbidden", innerCode: "AccessDenied", message: "x" }, `${POLICY} (Forbidden, AccessDenied)`],
  [{ code: "Forbidden", innerCode: "AccessDenied", message: "x ManagedHSM" }, `${HSM} (Forbidden, AccessDenied)`],
  [{ code: "AccessDenied", message: "x" }, `${HSM} (AccessDenied)`],
  [{ code: "AccessDenied", innerCode: "x", message: "x" }, `${POLICY} (AccessDenied)`],
  [{ code: "AccessDenied", innerCode: "x", message: "managedhsm" }, `${HSM} (AccessDenied)`],
])("403 with %j is of the policy or of a Managed HSM", (error, text) => {
  expect(rowOfError({ statusCode: 403, ...error })).toEqual({ code: "access_denied", text });
  expect(rowOfError({ statusCode: 404, ...error }).code).toBe("key_not_found");
});

test.each<[statusCode: number, error: object, code: SignerErrorCode, text: string]>([
  [399, { code: "x" }, "unavailable", "something other than the vault answered: HTTP status 399"],
  [400, {}, "invalid_argument", "the vault refused the request"],
  [400, { message: "Algorithm" }, "unsupported_key", "the key cannot sign with ES256"],
  [400, { message: "INCOMPATIBLE" }, "unsupported_key", "the key cannot sign with ES256"],
  [401, {}, "access_denied", "the vault refused the token"],
  [401, { message: "AKV10032: Invalid issuer" }, "access_denied", "the vault refused the token (AKV10032)"],
  [401, { message: "XAKV10032 AKV100321 AKV1003" }, "access_denied", "the vault refused the token"],
  [402, { code: "x" }, "invalid_argument", "the vault refused the request: HTTP status 402"],
  [402, {}, "unavailable", "something other than the vault answered: HTTP status 402"],
  [404, { code: "x" }, "key_not_found", "there is no such key, or no such version of it"],
  [404, {}, "unavailable", "something other than the vault answered: HTTP status 404"],
  [408, {}, "timeout", "no answer in time: HTTP status 408"],
  [409, {}, "unavailable", "another operation on the key is running"],
  [409, { message: "Deleted but recoverable" }, "key_disabled", "the key is soft-deleted, and can be recovered"],
  [429, {}, "throttled", "over the vault's limit of calls"],
  [429, { retryAfterSeconds: 0 }, "throttled", "over the vault's limit of calls; it asks to wait 0 s"],
  [429, { retryAfterSeconds: "7" }, "throttled", "over the vault's limit of calls"],
  [499, { code: "x" }, "invalid_argument", "the vault refused the request: HTTP status 499"],
  [500, {}, "unavailable", "the vault is temporarily unavailable: HTTP status 500"],
  [504, {}, "timeout", "no answer in time: HTTP status 504"],
  ...["Security Domain", "HSM is not activated", "has not been activated"].map(
    (message) =>
      [503, { message }, "unavailable", "the Managed HSM is not activated: its security domain was not downloaded"] as [
        number,
        object,
        SignerErrorCode,
        string,
      ],
  ),
])("the status %i with %j is %s", (statusCode, error, code, text) => {
  expect(rowOfError({ statusCode, ...error })).toEqual({ code, text });
});

describe("an error of the client", () => {
  const NO_ANSWER = "no answer in time";
  const CUT = "the connection was cut";
  const AWAY = "the vault cannot be reached";
  const UNKNOWN = "the client failed for an unknown reason";
  test.each<[code: string, expected: SignerErrorCode, text: string, isLoss?: boolean]>([
    ["ETIMEDOUT", "timeout", NO_ANSWER, true],
    ["UND_ERR_CONNECT_TIMEOUT", "timeout", NO_ANSWER, true],
    ["UND_ERR_HEADERS_TIMEOUT", "timeout", NO_ANSWER, true],
    ["UND_ERR_BODY_TIMEOUT", "timeout", NO_ANSWER, true],
    ["ECONNRESET", "unavailable", CUT, true],
    ["EPIPE", "unavailable", CUT, true],
    ["ECONNABORTED", "unavailable", CUT, true],
    ["UND_ERR_SOCKET", "unavailable", CUT, true],
    ["UND_ERR_INFO", "unavailable", CUT, true],
    [
      "ENOTFOUND",
      "unavailable",
      "the vault's name does not resolve: the vault was deleted, or its private DNS zone is missing",
    ],
    ["UND_ERR_HEADERS_OVERFLOW", "integrity", "the answer is too long"],
    ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "integrity", "the answer was cut off"],
    ["UND_ERR_ABORTED", "unavailable", "the client ended the call"],
    ["UND_ERR_DESTROYED", "unavailable", "the client was destroyed"],
    ["UND_ERR_CLOSED", "unavailable", "the client was closed"],
    ["UND_ERR_RES_EXCEEDED_MAX_SIZE", "integrity", "the answer is too long"],
    ["UND_ERR_PRX_TLS", "unavailable", "the proxy cannot be reached"],
    ["REQUEST_SEND_ERROR", "unavailable", AWAY],
    ["ERR_PROXY_TUNNEL", "unavailable", "the proxy made no connection"],
    ["ECONNREFUSED", "unavailable", "the connection was refused"],
    ["EAI_AGAIN", "unavailable", AWAY],
    ["ERR_OSSL_X", "unavailable", AWAY],
    ["ERR_HTTP2_STREAM_ERROR", "unavailable", AWAY],
    ["CERT_HAS_EXPIRED", "unavailable", AWAY],
    ["ERR_INVALID_ARG_TYPE", "integrity", UNKNOWN],
    ["XERR_OSSL_X", "integrity", UNKNOWN],
    ["E1", "integrity", UNKNOWN],
    ["X".repeat(64), "integrity", UNKNOWN],
  ])("%s is %s", (code, expected, text, isLoss = false) => {
    const row = rowOfError({ code });
    expect(row).toMatchObject({ code: expected, text: `${text} (${code})` });
    expect(row.transient).toBe(code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH" ? true : undefined);
    expect(isConnectionLoss({ code })).toBe(isLoss);
  });

  test.each([["secret"], ["xECONNRESET"], [`X${"Y".repeat(64)}`], ["1E"], ["ECONNRESET secret"]])(
    "with the code %j does not show it",
    (code) => {
      expect(rowOfError({ code }).text).toBe(UNKNOWN);
    },
  );

  test.each<[error: object, code: SignerErrorCode, text: string]>([
    [
      { message: "Proxy response (407) !== 200 when HTTP Tunneling", code: "UND_ERR_ABORTED" },
      "unavailable",
      "the proxy answered with status 407",
    ],
    [
      { message: "x Proxy response (407) ", code: "UND_ERR_ABORTED" },
      "unavailable",
      "the client ended the call (UND_ERR_ABORTED)",
    ],
    [{ code: "UND_ERR_SOCKS5_AUTH" }, "unavailable", "the proxy cannot be used (UND_ERR_SOCKS5_AUTH)"],
    [{ name: "HTTPParserError" }, "unavailable", "something that does not speak HTTP answered"],
    [{ code: "HPE_INVALID_CONSTANT" }, "unavailable", "something that does not speak HTTP answered"],
    [{ code: "XHPE_" }, "integrity", `${UNKNOWN} (XHPE_)`],
    [{ statusCode: "404", code: "KeyNotFound" }, "integrity", UNKNOWN],
    [{}, "integrity", UNKNOWN],
  ])("%j is told by more than its code", (error, code, text) => {
    expect(rowOfError(error)).toEqual({ code, text });
  });
});
