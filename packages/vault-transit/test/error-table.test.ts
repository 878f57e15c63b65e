import { describe, expect, test } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import { isConnectionLoss, rowOfAnswer, rowOfError, type Row } from "../src/error-table.ts";

// Each row of the tables once, with the text.

const answer = (status: number, message?: string, hasErrors = true, retryAfter?: number): Row =>
  rowOfAnswer({ status, errors: message === undefined ? [] : [message], hasErrors, retryAfter });

test.each<[message: string, code: SignerErrorCode, text: string]>([
  ["signing key not found", "key_not_found", "there is no such key"],
  ["x is higher than the latest key version", "key_not_found", "there is no such version of the key"],
  [
    "x is less than the minimum encryption key version",
    "key_disabled",
    "the version is below the key's min_encryption_version",
  ],
  [
    "x is less than the minimum decryption key version",
    "key_disabled",
    "the version is below the key's min_decryption_version",
  ],
  ["less than the minimum decryption version", "key_disabled", "the version is below the key's min_decryption_version"],
  [
    "x is less than the minimum available version",
    "key_disabled",
    "the version is below the key's min_decryption_version",
  ],
  ["refusing to use soft-deleted key", "key_disabled", "the key is soft-deleted"],
  [
    "x does not contain a private part",
    "unsupported_key",
    "the key was imported with its public half only, and cannot sign",
  ],
  ["key type x does not support signing", "unsupported_key", "keys of this type cannot sign"],
  ["missing client token", "access_denied", "the call had no token"],
  ["no handler for route x", "key_not_found", "nothing is mounted there"],
  ["unsupported path", "key_not_found", "nothing is mounted there"],
  ["unsupported operation", "key_not_found", "what is mounted there is not a Transit engine"],
  ["namespace not found", "key_not_found", "there is no such namespace"],
  ["Vault is sealed", "unavailable", "the server is sealed"],
  ["Vault is not initialized", "unavailable", "the server is not initialized"],
  ["the core is uninitialized", "unavailable", "the server is not initialized"],
  ["Vault is in standby mode", "unavailable", "the server is a standby, and does not forward calls"],
  ["context deadline exceeded", "timeout", "a part of the server did not answer in time"],
])("the message %j is %s", (message, code, text) => {
  for (const status of [400, 404, 500]) expect(answer(status, message)).toEqual({ code, text });
  // These say what they mean by their status.
  expect(answer(403, message)).toEqual({ code: "access_denied", text: "the server denied permission" });
  expect(answer(429, message)).toEqual({ code: "throttled", text: "over a rate quota of the server" });
});

test("a message counts among others", () => {
  expect(
    rowOfAnswer({ status: 500, errors: ["x", "Vault is sealed"], hasErrors: true, retryAfter: undefined }).text,
  ).toBe("the server is sealed");
});

test.each<[status: number, hasErrors: boolean, code: SignerErrorCode, text: string]>([
  [399, true, "unavailable", "something other than the server answered: HTTP status 399"],
  [400, true, "invalid_argument", "the server refused the request with HTTP status 400"],
  [400, false, "invalid_argument", "the server refused the request with HTTP status 400"],
  [401, false, "access_denied", "the server denied permission"],
  [402, true, "invalid_argument", "the server refused the request with HTTP status 402"],
  [404, true, "key_not_found", "there is no such key"],
  [402, false, "unavailable", "something other than the server answered: HTTP status 402"],
  [404, false, "unavailable", "something other than the server answered: HTTP status 404"],
  [407, false, "unavailable", "something other than the server answered: HTTP status 407"],
  [412, false, "unavailable", "the replica has not received the latest writes yet"],
  [408, true, "timeout", "no answer in time: HTTP status 408"],
  [412, true, "unavailable", "the replica has not received the latest writes yet"],
  [499, true, "invalid_argument", "the server refused the request with HTTP status 499"],
  [500, false, "unavailable", "the server is temporarily unavailable: HTTP status 500"],
  [504, true, "timeout", "no answer in time: HTTP status 504"],
])("the status %i, with a list of messages: %s, is %s", (status, hasErrors, code, text) => {
  expect(answer(status, undefined, hasErrors)).toEqual({ code, text });
});

test("429 says how long to wait, even not at all", () => {
  expect(answer(429, undefined, true, 0).text).toBe("over a rate quota of the server; it asks to wait 0 s");
});

describe("an error of the client", () => {
  const NO_ANSWER = "no answer in time";
  const CUT = "the connection was cut";
  const AWAY = "the server cannot be reached";
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
    ["UND_ERR_HEADERS_OVERFLOW", "integrity", "the answer is too long"],
    ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "integrity", "the answer was cut off"],
    ["UND_ERR_ABORTED", "unavailable", "the client ended the call"],
    ["UND_ERR_DESTROYED", "unavailable", "the client was destroyed"],
    ["UND_ERR_CLOSED", "unavailable", "the client was closed"],
    ["UND_ERR_RES_EXCEEDED_MAX_SIZE", "integrity", "the answer is too long"],
    ["UND_ERR_PRX_TLS", "unavailable", "the proxy cannot be reached"],
    ["ECONNREFUSED", "unavailable", "the connection was refused"],
    ["EAI_AGAIN", "unavailable", AWAY],
    ["ERR_OSSL_X", "unavailable", AWAY],
    ["ERR_HTTP2_STREAM_ERROR", "unavailable", AWAY],
    ["CERT_HAS_EXPIRED", "unavailable", AWAY],
    ["ERR_INVALID_ARG_TYPE", "integrity", "the client failed for an unknown reason"],
    ["XERR_OSSL_X", "integrity", "the client failed for an unknown reason"],
    ["E1", "integrity", "the client failed for an unknown reason"],
    ["X".repeat(64), "integrity", "the client failed for an unknown reason"],
  ])("%s is %s", (code, expected, text, isLoss = false) => {
    const row = rowOfError({ code });
    expect(row).toMatchObject({ code: expected, text: `${text} (${code})` });
    expect(row.transient).toBe(code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH" ? true : undefined);
    expect(isConnectionLoss({ code })).toBe(isLoss);
  });

  test.each([["secret"], ["xECONNRESET"], [`X${"Y".repeat(64)}`], ["1E"], ["ECONNRESET secret"]])(
    "with the code %j does not show it",
    (code) => {
      expect(rowOfError({ code }).text).toBe("the client failed for an unknown reason");
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
    [{ code: "XHPE_" }, "integrity", "the client failed for an unknown reason (XHPE_)"],
    [{ code: "UND_ERR_RESPONSE", statusCode: 404 }, "key_not_found", "there is no such key"],
    [{ code: "UND_ERR_REQ_RETRY", statusCode: 404 }, "key_not_found", "there is no such key"],
    [
      { code: "UND_ERR_RESPONSE", statusCode: "404" },
      "integrity",
      "the client failed for an unknown reason (UND_ERR_RESPONSE)",
    ],
    [{ code: "EPIPE", statusCode: 404 }, "unavailable", "the connection was cut (EPIPE)"],
    [{}, "integrity", "the client failed for an unknown reason"],
  ])("%j is told by more than its code", (error, code, text) => {
    expect(rowOfError(error)).toMatchObject({ code, text });
  });
});
