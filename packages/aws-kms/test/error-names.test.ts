import { describe, expect, test } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import { configurationCause, signerErrorFrom } from "../src/errors.ts";
import { CredentialsError } from "../src/credential-errors.ts";
import { classify, isConnectionLoss, isCredentialRefusal, isKnownName, isUnreachable } from "../src/error-table.ts";

// The tables of the errors of KMS, of STS and of Node, each row once.

const BY_CODE: Readonly<Partial<Record<SignerErrorCode, readonly string[]>>> = {
  throttled: [
    "ThrottlingException",
    "ThrottledException",
    "Throttling",
    "TooManyRequestsException",
    "TooManyRequests",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "LimitExceededException",
  ],
  unavailable: [
    "KMSInternalException",
    "InternalFailure",
    "InternalFailureException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "KeyUnavailableException",
    "RequestAbortedException",
    "IDPCommunicationError",
    "IDPCommunicationErrorException",
  ],
  timeout: ["DependencyTimeoutException", "RequestTimeout", "RequestTimeoutException"],
  key_not_found: ["NotFoundException"],
  key_disabled: ["DisabledException", "KMSInvalidStateException"],
  unsupported_key: ["InvalidKeyUsageException", "UnsupportedOperationException"],
  invalid_argument: ["InvalidArnException", "ValidationException", "EndpointError", "DryRunOperationException"],
  access_denied: [
    "AccessDeniedException",
    "AccessDenied",
    "NotAuthorized",
    "OptInRequired",
    "InvalidGrantTokenException",
    "CredentialsProviderError",
    "TokenProviderError",
    "ProviderError",
    "InvalidIdentityToken",
    "InvalidIdentityTokenException",
    "IDPRejectedClaim",
    "IDPRejectedClaimException",
  ],
};

/** The credentials were refused: others, or the same with a corrected clock, may be accepted. */
const REFUSALS = [
  "ExpiredTokenException",
  "ExpiredToken",
  "UnrecognizedClientException",
  "InvalidClientTokenId",
  "InvalidAccessKeyId",
  "InvalidSignatureException",
  "SignatureDoesNotMatch",
  "IncompleteSignature",
  "IncompleteSignatureException",
  "MissingAuthenticationTokenException",
  "MissingAuthenticationToken",
  "AuthFailure",
  "RequestExpired",
  "RequestInTheFuture",
  "RequestTimeTooSkewed",
];

const NAMES = Object.entries(BY_CODE).flatMap(([code, names]) => names.map((name) => [name, code, false] as const));

test.each([...NAMES, ...REFUSALS.map((name) => [name, "access_denied", true] as const)])(
  "%s is %s, and a refusal of credentials: %s",
  (name, code, isRefusal) => {
    // The status of an unknown error would say something else.
    const error = { name, message: "made up", $metadata: { httpStatusCode: 418 } };
    expect(classify(error).code).toBe(code);
    expect([isCredentialRefusal(error), isKnownName(name)]).toEqual([isRefusal, true]);
  },
);

const CUT = ["ECONNRESET", "EPIPE", "ECONNABORTED", "ERR_SOCKET_CLOSED", "ERR_STREAM_DESTROYED"];
const NO_ANSWER = ["ETIMEDOUT", "ESOCKETTIMEDOUT", "ERR_SOCKET_CONNECTION_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT"];

type SystemRow = readonly [code: string, expected: SignerErrorCode, isLoss: boolean];
const rows = (codes: readonly string[], expected: SignerErrorCode): readonly SystemRow[] =>
  codes.map((code) => [code, expected, true]);

describe("a system error", () => {
  test.each<SystemRow>([
    ...rows([...NO_ANSWER, "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"], "timeout"),
    ...rows([...CUT, "ERR_STREAM_PREMATURE_CLOSE", "UND_ERR_SOCKET"], "unavailable"),
    ["ECONNREFUSED", "unavailable", false],
    ["EHOSTUNREACH", "unavailable", false],
    ["ERR_HTTP2_SESSION_ERROR", "unavailable", false],
    ["HPE_INVALID_CONSTANT", "unavailable", false],
    ["ERR_INVALID_CHAR", "access_denied", false],
    ["ERR_PROXY_TUNNEL", "unavailable", false],
    ["ERR_INVALID_PROTOCOL", "invalid_argument", false],
    ["ERR_UNESCAPED_CHARACTERS", "integrity", false],
    ["EXAMPLE1", "integrity", false],
    ["XERR_HTTP2_SESSION_ERROR", "integrity", false],
    ["xECONNRESET", "integrity", false],
    ["XHPE_INVALID_CONSTANT", "integrity", false],
  ])("%s is %s, and a lost connection: %s", (code, expected, isLoss) => {
    expect(classify({ code }).code).toBe(expected);
    expect(isConnectionLoss({ code })).toBe(isLoss);
    expect(isUnreachable({ code })).toBe(expected === "unavailable" || expected === "timeout");
    // A client that uses fetch has it as the cause.
    expect(classify({ name: "TypeError", cause: { code } }).code).toBe(expected);
  });

  test("says less than the service's own name, and more than that of the client", () => {
    expect(classify({ name: "DisabledException", code: "ECONNRESET" }).code).toBe("key_disabled");
    expect(classify({ name: "TimeoutError", code: "ECONNRESET" }).text).toBe("the connection was cut");
    expect(classify({ name: "TimeoutError", $metadata: { httpStatusCode: 400 } }).code).toBe("timeout");
    expect(classify({ $metadata: { httpStatusCode: 400 }, cause: { code: "EPIPE" } }).code).toBe("invalid_argument");
    expect(classify({ code: 7 }).code).toBe("integrity");
  });
});

describe("the cause of an error shows", () => {
  const TARGET = { key: "alias/op", region: "eu-west-1" };
  const messageOf = (error: unknown): string => String(Reflect.get(Object(Object(error).cause), "message"));
  const ofCall = (message: string, name = "Error"): string =>
    messageOf(signerErrorFrom(Object.assign(new Error(message), { name }), "kms:Sign", TARGET));
  const ofSource = (message: string): string =>
    messageOf(
      signerErrorFrom(
        new CredentialsError({ code: "access_denied", text: "x" }, new Error(message)),
        "kms:Sign",
        TARGET,
      ),
    );

  test.each([
    ["the key is disabled", true],
    ["The security token included in the request is invalid", true],
    ["Credential=AKIA AWS4-HMAC-SHA256 secret", false],
    ["aws4-hmac-sha256 secret", false],
    ["X-Amz-Security-Token: secret", false],
    ["Command failed: secret", false],
    ["the Command failed", true],
    ["Unexpected token s in JSON at position 0", false],
    ["secret is not valid JSON", false],
    ["Unexpected end of JSON input", false],
    ["Unexpected non-whitespace character", false],
  ])("of a call, %j: %s", (message, isShown) => {
    expect(ofCall(message) === message).toBe(isShown);
  });

  test("of a call nothing of one whose name is about a signature", () => {
    expect(ofCall("secret", "InvalidSignatureException")).not.toContain("secret");
    expect(ofCall("secret", "signatureDoesNotMatch")).not.toContain("secret");
  });

  test.each([
    ["Could not load credentials from any providers", true],
    ["x Could not load credentials from any providers", false],
    ["Unable to find environment variable credentials.", true],
    ["x Unable to find environment variable credentials.", false],
    ["EC2 Metadata Service access disabled", true],
    ["x EC2 Metadata Service access disabled", false],
    ["Token is expired. To refresh this SSO session run", true],
    ["x Token is expired.", false],
    ["secret", false],
  ])("of a source of credentials, %j: %s", (message, isShown) => {
    expect(ofSource(message) === message).toBe(isShown);
  });

  test.each([
    ["no Region", true],
    ["https://me:secret@kms.example", false],
    ['Region not accepted: region="secret"', false],
    ["the Region not accepted", true],
  ])("of the configuration, %j: %s", (message, isShown) => {
    const cause = configurationCause(Object.assign(new Error(message), { code: "X", path: "secret" }));
    expect(Reflect.get(Object(cause), "message") === message).toBe(isShown);
    expect(cause).toMatchObject({ code: "X" });
    expect(cause).not.toHaveProperty("path");
  });

  test("the members that say more", () => {
    const error = Object.assign(new Error("no"), {
      name: "DisabledException",
      code: "X",
      $fault: "client",
      $metadata: {},
    });
    expect(signerErrorFrom(Object.assign(error, { request: "secret" }), "kms:Sign", TARGET).cause).toMatchObject({
      code: "X",
      $fault: "client",
      $metadata: {},
    });
    expect(signerErrorFrom(error, "kms:Sign", TARGET).cause).not.toHaveProperty("request");
  });
});
