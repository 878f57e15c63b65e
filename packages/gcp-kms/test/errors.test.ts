import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import { SignerError, type SignerErrorCode } from "@signpost/core";
import { credentialsError } from "../src/credential-errors.ts";
import { signerErrorFrom } from "../src/errors.ts";

const SUBJECT = { action: "sign with", name: "projects/p/…/cryptoKeyVersions/1" };

/** An error as gRPC gives it. */
function grpcError(code: number, details: string): Error {
  return Object.assign(new Error(`${code} NAME: ${details}`), { code, details });
}

/** An error as REST gives it in 5.x: the HTTP status as code, the body as message. */
function restBodyError(http: number, body: string): Error {
  return Object.assign(new Error(body), { code: http, status: http });
}

/** An error as REST gives it in 6.x, for an answer that it cannot read. */
function restError6(code: number, httpStatusCode: number): Error {
  return Object.assign(new Error("Error response from RPC could not be decoded"), { code, httpStatusCode });
}

/** Where `instanceof Error` is false, as in a test runner that gives tests globals of their own. */
function inAnotherRealm(expression: string): unknown {
  return runInNewContext(expression);
}

function googleBody(http: number, status: string, message = "words"): string {
  return JSON.stringify({ error: { code: http, message, status } });
}

describe("what the client throws becomes one of our codes", () => {
  test.each<[string, unknown, SignerErrorCode, boolean]>([
    ["CANCELLED that is not ours", grpcError(1, "Cancelled"), "unavailable", true],
    ["RST_STREAM with CANCEL", grpcError(1, "Call cancelled"), "timeout", true],
    ["UNKNOWN", grpcError(2, ""), "unavailable", true],
    ["INVALID_ARGUMENT", grpcError(3, ""), "invalid_argument", false],
    ["DEADLINE_EXCEEDED", grpcError(4, ""), "timeout", true],
    ["NOT_FOUND", grpcError(5, ""), "key_not_found", false],
    ["ALREADY_EXISTS", grpcError(6, ""), "invalid_argument", false],
    ["PERMISSION_DENIED", grpcError(7, ""), "access_denied", false],
    ["RST_STREAM with INADEQUATE_SECURITY", grpcError(7, "Protocol not secure enough"), "unavailable", true],
    [
      "GOAWAY with ENHANCE_YOUR_CALM",
      grpcError(8, "Bandwidth exhausted or memory limit exceeded"),
      "unavailable",
      true,
    ],
    ["RESOURCE_EXHAUSTED", grpcError(8, ""), "throttled", true],
    ["FAILED_PRECONDITION", grpcError(9, ""), "key_disabled", false],
    ["ABORTED", grpcError(10, ""), "unavailable", true],
    ["OUT_OF_RANGE", grpcError(11, ""), "invalid_argument", false],
    ["UNIMPLEMENTED", grpcError(12, ""), "invalid_argument", false],
    ["INTERNAL", grpcError(13, ""), "unavailable", true],
    ["UNAVAILABLE", grpcError(14, ""), "unavailable", true],
    ["DATA_LOSS", grpcError(15, ""), "integrity", false],
    ["UNAUTHENTICATED", grpcError(16, ""), "access_denied", false],
    [
      "a proxy that closes the connection, over REST",
      new Error(
        "request to https://kms.example/ failed, reason: Proxy connection ended before receiving CONNECT response",
      ),
      "unavailable",
      true,
    ],
    [
      "redirections without an end, over REST in 5.x",
      new Error("maximum redirect reached", { cause: Object.assign(new Error("x"), { type: "max-redirect" }) }),
      "unavailable",
      true,
    ],
    [
      "a lost connection of a client that uses fetch",
      new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNRESET" }) }),
      "unavailable",
      true,
    ],
    [
      "a connection that fetch lost",
      new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "UND_ERR_SOCKET" }) }),
      "unavailable",
      true,
    ],
    [
      "a connection that fetch could not make in time",
      new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "UND_ERR_CONNECT_TIMEOUT" }) }),
      "unavailable",
      true,
    ],
    [
      "an abort in Node's http by another party",
      Object.assign(new Error("x"), { name: "AbortError", code: "ABORT_ERR" }),
      "unavailable",
      true,
    ],
    [
      "no address that could be reached in time",
      Object.assign(new Error("x"), { code: "ERR_SOCKET_CONNECTION_TIMEOUT" }),
      "unavailable",
      true,
    ],
    ["a proxy's CA that is none", Object.assign(new Error("x"), { code: "INVALID_CA" }), "unavailable", true],
    ["a port that is none", Object.assign(new Error("x"), { code: "ERR_SOCKET_BAD_PORT" }), "integrity", false],
    ["its own timeout", new DOMException("x", "TimeoutError"), "timeout", true],
    ["an abort by another party", new DOMException("x", "AbortError"), "unavailable", true],
    [
      "a redirection to nowhere, over REST in 5.x",
      new Error("invalid redirect", { cause: Object.assign(new Error("x"), { type: "invalid-redirect" }) }),
      "unavailable",
      true,
    ],
    [
      "an answer that is not HTTP, over REST in 5.x",
      Object.assign(new Error("x"), { code: "HPE_INVALID_CONSTANT" }),
      "unavailable",
      true,
    ],
    ["a broken gzip, over REST in 5.x", Object.assign(new Error("x"), { code: "Z_DATA_ERROR" }), "unavailable", true],
    ["an empty answer, over REST in 5.x", new Error("Received null response from RPC GetPublicKey"), "integrity", true],
    [
      "a request that a minified client cannot write",
      new Error("wrapperToProto3JSON: expected to see a number, a string, a boolean, or a Long, but got 1687901582"),
      "invalid_argument",
      false,
    ],
    ["a status that is none", grpcError(17, ""), "integrity", false],

    [
      "HTTP 400 whose body says more",
      restBodyError(400, googleBody(400, "FAILED_PRECONDITION")),
      "key_disabled",
      false,
    ],
    ["HTTP 400 without a body", restBodyError(400, ""), "invalid_argument", false],
    ["HTTP 503 with the name of a method", restBodyError(503, googleBody(503, "constructor")), "unavailable", true],
    ["HTTP 401", restBodyError(401, "<html>"), "access_denied", false],
    ["HTTP 403", restBodyError(403, "<html>"), "access_denied", false],
    ["HTTP 404 of Google", restBodyError(404, googleBody(404, "NOT_FOUND")), "key_not_found", false],
    ["HTTP 404 of Google without a status", restBodyError(404, '{"error":{"message":"no"}}'), "key_not_found", false],
    ["HTTP 404", restBodyError(404, "null"), "unavailable", true],
    ["HTTP 404 with other JSON", restBodyError(404, '{"message":"no route"}'), "unavailable", true],
    ["HTTP 304", restBodyError(304, ""), "unavailable", true],
    ["HTTP 407 of a proxy", restBodyError(407, "<html>"), "unavailable", true],
    ["HTTP 408 of a proxy", restBodyError(408, "<html>"), "timeout", true],
    ["HTTP 409", restBodyError(409, "[]"), "unavailable", true],
    ["HTTP 413", restBodyError(413, ""), "unavailable", true],
    ["HTTP 429", restBodyError(429, ""), "throttled", true],
    ["HTTP 499", restBodyError(499, ""), "unavailable", true],
    ["HTTP 500", restBodyError(500, ""), "unavailable", true],
    ["HTTP 501", restBodyError(501, ""), "unavailable", true],
    ["HTTP 502 of a proxy", restBodyError(502, "<html>"), "unavailable", true],
    ["HTTP 504", restBodyError(504, ""), "timeout", true],

    ["HTTP 400 in 6.x that is Google's", restError6(9, 400), "key_disabled", false],
    ["HTTP 404 in 6.x that is Google's", { ...restError6(5, 404), details: [] }, "key_not_found", false],
    ["HTTP 404 in 6.x", restError6(5, 404), "unavailable", true],
    ["HTTP 407 in 6.x", restError6(9, 407), "unavailable", true],
    ["HTTP 408 in 6.x", restError6(9, 408), "timeout", true],
    ["HTTP 413 in 6.x", restError6(9, 413), "unavailable", true],
    ["HTTP 425 in 6.x", restError6(9, 425), "unavailable", true],
    ["HTTP 502 in 6.x", restError6(13, 502), "unavailable", true],
    ["HTTP 503 in 6.x with other JSON", { httpStatusCode: 503, details: [], message: "" }, "unavailable", true],
    ["HTTP 400 in 6.x with other JSON", { httpStatusCode: 400, details: [], message: "" }, "invalid_argument", false],
    ["HTTP 404 over gRPC", grpcError(12, "Received HTTP status code 404"), "unavailable", true],
    ["HTTP 401 over gRPC", grpcError(16, "Received HTTP status code 401"), "access_denied", false],

    ["a refused connection", Object.assign(new Error("x"), { code: "ECONNREFUSED" }), "unavailable", true],
    ["a name server that failed", Object.assign(new Error("x"), { code: "EAI_FAIL" }), "unavailable", true],
    ["no file descriptor left", Object.assign(new Error("x"), { code: "EMFILE" }), "unavailable", true],
    ["a network that went away", Object.assign(new Error("x"), { code: "ENETRESET" }), "unavailable", true],
    ["a name that does not resolve", Object.assign(new Error("x"), { code: "EAI_AGAIN" }), "unavailable", true],
    [
      "a body that ends early",
      Object.assign(new Error("x"), { code: "ERR_STREAM_PREMATURE_CLOSE" }),
      "unavailable",
      true,
    ],
    ["a body that is cut", new SyntaxError("Unterminated string in JSON"), "integrity", true],
    ["a client that its owner closed", "The client has already been closed.", "closed", false],
    ["the same, wrapped", new Error("The client has already been closed."), "closed", false],
    ["an error of another realm", inAnotherRealm("Object.assign(new Error('x'), { code: 14 })"), "unavailable", true],
    ["a body that is cut, in another realm", inAnotherRealm("new SyntaxError('x')"), "integrity", true],
    ["another string", "no", "integrity", false],
    ["a mistake in the client", new TypeError("x is not a function"), "integrity", false],
    [
      "an invalid argument of Node",
      Object.assign(new Error("x"), { code: "ERR_INVALID_ARG_TYPE" }),
      "integrity",
      false,
    ],
    ["nothing", undefined, "integrity", false],
  ])("%s", (_what, error, code, transient) => {
    const mapped = signerErrorFrom(error, SUBJECT);
    expect(mapped).toBeInstanceOf(SignerError);
    expect(mapped).toMatchObject({ code, transient });
    expect(mapped.message).toMatch(/^cannot sign with projects\/p\/…\/cryptoKeyVersions\/1: ./);
  });
});

test("a permission that is missing is named", () => {
  const subject = { ...SUBJECT, permission: "cloudkms.cryptoKeyVersions.useToSign" };
  expect(signerErrorFrom(grpcError(7, ""), subject).message).toMatch(
    /; this needs cloudkms\.cryptoKeyVersions\.useToSign$/,
  );
  expect(signerErrorFrom(grpcError(5, ""), subject).message).not.toContain("this needs");
  expect(signerErrorFrom(grpcError(16, ""), subject).message).not.toContain("this needs");
});

test.each([
  ["5.x", restBodyError(403, "<html>")],
  ["6.x", restError6(7, 403)],
  ["gRPC", grpcError(7, "Received HTTP status code 403")],
])("the refusal of a proxy names no permission (%s)", (_what, error) => {
  const { message } = signerErrorFrom(error, { ...SUBJECT, permission: "cloudkms.cryptoKeyVersions.useToSign" });
  expect(message).toMatch(/: something that is not the service refused the call \(HTTP 403\)$/);
});

describe("a version that cannot be used", () => {
  test.each<[string, SignerErrorCode, boolean]>([
    ["DISABLED", "key_disabled", false],
    ["DESTROYED", "key_disabled", false],
    ["DESTROY_SCHEDULED", "key_disabled", false],
    ["IMPORT_FAILED", "key_disabled", false],
    ["GENERATION_FAILED", "key_disabled", false],
    ["PENDING_GENERATION", "unavailable", true],
    ["PENDING_IMPORT", "unavailable", true],
  ])("is told as %s", (state, code, transient) => {
    const named = signerErrorFrom(grpcError(9, `x is not enabled, current state is: ${state}.`), SUBJECT);
    const lookedUp = signerErrorFrom(grpcError(9, "Precondition check failed."), SUBJECT, state);
    for (const error of [named, lookedUp]) {
      expect(error).toMatchObject({ code, transient, message: expect.stringContaining(`the version is ${state}`) });
    }
  });

  test("and is ENABLED by now may be tried again", () => {
    expect(signerErrorFrom(grpcError(9, ""), SUBJECT, "ENABLED")).toMatchObject({
      code: "unavailable",
      transient: true,
    });
  });
});

test("a digest that arrived damaged is integrity, and may be tried again", () => {
  const words = "The checksum in field digest_crc32c did not match the data in field digest.";
  const overRest = restBodyError(400, googleBody(400, "INVALID_ARGUMENT", words));
  for (const error of [grpcError(3, words), overRest]) {
    expect(signerErrorFrom(error, SUBJECT)).toMatchObject({ code: "integrity", transient: true });
  }
});

describe("an access token that could not be had, for a call over gRPC", () => {
  const prefix = "Getting metadata from plugin failed with error: ";

  test("is access_denied when the token endpoint refused", () => {
    expect(signerErrorFrom(grpcError(400, `${prefix}invalid_grant`), SUBJECT)).toMatchObject({ code: "access_denied" });
  });

  test("names the source of credentials, and not the service", () => {
    const { message } = signerErrorFrom(grpcError(503, `${prefix}try later`), SUBJECT);
    expect(message).toMatch(/: the source of Google credentials answered HTTP 503$/);
  });

  test.each([
    "The file at /var/run/token does not exist, or it is not a file. ENOENT",
    "error:1E08010C:DECODER routines::unsupported",
    "Could not load the default credentials.",
  ])("is access_denied, at once, for %s", (words) => {
    vi.stubEnv("GCE_METADATA_HOST", undefined);
    expect(signerErrorFrom(grpcError(2, prefix + words), SUBJECT)).toMatchObject({ code: "access_denied" });
    vi.unstubAllEnvs();
  });

  test.each([2, 429, 503])("may be tried again after status %i", (code) => {
    expect(signerErrorFrom(grpcError(code, `${prefix}try later`), SUBJECT).transient).toBe(true);
  });
});

describe("credentials that could not be had, before a call", () => {
  test("say that they are for another universe than the client", () => {
    const mismatch =
      "The configured universe domain (googleapis.com) does not match the universe domain found in the credentials (a.example).";
    expect(String(credentialsError(new Error(mismatch), SUBJECT))).toMatch(
      /no usable Google credentials were found: they are for another universe domain than the client$/,
    );
  });

  test.each<[string, unknown, SignerErrorCode]>([
    ["a file that is not there", Object.assign(new Error("x"), { code: "ENOENT" }), "access_denied"],
    ["none at all", new Error("Could not load the default credentials"), "access_denied"],
    ["a grant that is refused", restBodyError(400, '{"error":"invalid_grant"}'), "access_denied"],
    ["a token endpoint that is away", restBodyError(503, ""), "unavailable"],
    ["a token endpoint over its quota", restBodyError(429, ""), "throttled"],
    [
      "a metadata server that cannot be reached",
      Object.assign(new Error("x"), { code: "EHOSTUNREACH" }),
      "unavailable",
    ],
    [
      "a network that is named in the cause alone",
      new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }),
      "unavailable",
    ],
    ["a request that was given up", Object.assign(new Error("x"), { code: "TimeoutError" }), "timeout"],
    ["a private key that is broken", new Error("error:1E08010C:DECODER routines::unsupported"), "access_denied"],
    ["redirections without an end", Object.assign(new Error("x"), { type: "max-redirect" }), "unavailable"],
    ["an answer that is cut", new SyntaxError("x"), "access_denied"],
    ["an answer that is null", new TypeError("Cannot read properties of null (reading 'accessToken')"), "unavailable"],
  ])("%s", (_what, error, code) => {
    const mapped = credentialsError(error, SUBJECT);
    expect(mapped).toMatchObject({ code, cause: expect.any(Error) });
    expect(mapped.message).toMatch(/^cannot sign with projects\/p\/…\/cryptoKeyVersions\/1: ./);
  });
});

describe("the cause", () => {
  test("keeps what happened and drops the request", () => {
    const network = Object.assign(new Error("socket hang up"), { code: "ECONNRESET", config: { body: "digest" } });
    const error = Object.assign(new Error("14 UNAVAILABLE: x", { cause: network }), {
      name: "GoogleError",
      code: 14,
      details: "x",
      config: { headers: { authorization: "Bearer token" }, body: "digest" },
      response: { config: { body: "digest" } },
    });
    const { cause } = signerErrorFrom(error, SUBJECT);
    expect(cause).toMatchObject({ name: "GoogleError", message: "14 UNAVAILABLE: x", code: 14, details: "x" });
    expect(cause).toMatchObject({ stack: error.stack, cause: { message: "socket hang up", code: "ECONNRESET" } });
    expect(Object.keys(cause as Error).toSorted()).toEqual(["code", "details"]);
    expect(Object.keys((cause as Error).cause as Error)).toEqual(["code"]);
  });

  test("of another realm is kept as well", () => {
    const error = inAnotherRealm("Object.assign(new Error('14 UNAVAILABLE: x'), { code: 14, metadata: 'token' })");
    const { cause } = signerErrorFrom(error, SUBJECT);
    expect(cause).toBeInstanceOf(Error);
    expect(cause).toMatchObject({ message: "14 UNAVAILABLE: x", code: 14 });
    expect(Object.keys(cause as Error)).toEqual(["code"]);
  });

  test("that is its own cause ends", () => {
    const error = new Error("x");
    error.cause = error;
    expect(signerErrorFrom(error, SUBJECT).cause).toBeInstanceOf(Error);
  });
});
