import { afterEach, describe, expect, test, vi } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import {
  causeOf,
  failingFileCode,
  isClosedClient,
  isNetworkCode,
  isNoJson,
  isRedirectError,
  networkCode,
} from "../src/client-error.ts";
import { credentialsError, lateError, pluginFailure, requireToken } from "../src/credential-errors.ts";
import { isUnauthenticated, signerErrorFrom, stateInMessage, statusNumber } from "../src/errors.ts";
import { isKeyVersionName, namesProjectOtherwise, parseCryptoKey, parseKeyName, projectOf } from "../src/key-name.ts";
import { InsecureSourceError, requireSecureSources } from "../src/secure-sources.ts";

const SUBJECT = { action: "sign with", name: "v" };
const body = (status: unknown): string => JSON.stringify({ error: { status } });

afterEach(() => void vi.unstubAllEnvs());

describe("the gRPC status of an error", () => {
  test.each<[what: string, error: object, status: number | undefined]>([
    ["is its code", { code: 99 }, 99],
    ["follows from an HTTP status", { code: 100, message: "" }, 14],
    ["399 of a proxy", { code: 399 }, 14],
    ["400", { code: 400 }, 3],
    ["499", { code: 499 }, 1],
    ["498", { code: 498 }, 3],
    ["500", { code: 500 }, 14],
    ["421", { code: 421 }, 14],
    ["425", { code: 425 }, 14],
    ["or from its body, which says more", { code: 400, message: body("FAILED_PRECONDITION") }, 9],
    ["but not from another body", { code: 400, message: body("SOMETHING_NEW") }, 3],
    ["nor from a body of another form", { code: 400, message: body(9) }, 3],
    ["nor from null", { code: 400, message: "null" }, 3],
    ["6.x with Google's own 400", { code: 9, httpStatusCode: 400 }, 9],
    ["6.x with a proxy's page", { code: 9, httpStatusCode: 399 }, 14],
    ["6.x with another proxy's page", { code: 9, httpStatusCode: 401 }, 16],
    ["6.x without a status", { code: 9, httpStatusCode: "400" }, 9],
    ["6.x with another code", { code: 7, httpStatusCode: 502 }, 7],
    ["a system error", { code: "ECONNRESET" }, 14],
    ["a redirect to nowhere", { type: "invalid-redirect" }, 14],
    ["a redirect without an end, in the cause", { cause: { type: "max-redirect" } }, 14],
    ["a redirect next to a code", { code: 7, type: "max-redirect" }, 7],
    ["a lost connection in the cause", { cause: { code: "ECONNRESET" } }, 14],
    ["a timeout of the client", { name: "TimeoutError" }, 4],
    ["an abort of the client", { name: "AbortError", code: "ABORT_ERR" }, 1],
    ["of another code is unknown", { code: "ERR_INVALID_ARG_TYPE" }, undefined],
    ["of nothing is unknown", {}, undefined],
  ])("%s", (_what, error, status) => {
    expect(statusNumber(error)).toBe(status);
    expect(isUnauthenticated(error)).toBe(status === 16);
  });
});

test.each<[name: string, status: number]>([
  ["CANCELLED", 1],
  ["UNKNOWN", 2],
  ["INVALID_ARGUMENT", 3],
  ["DEADLINE_EXCEEDED", 4],
  ["NOT_FOUND", 5],
  ["ALREADY_EXISTS", 6],
  ["PERMISSION_DENIED", 7],
  ["RESOURCE_EXHAUSTED", 8],
  ["FAILED_PRECONDITION", 9],
  ["ABORTED", 10],
  ["OUT_OF_RANGE", 11],
  ["UNIMPLEMENTED", 12],
  ["INTERNAL", 13],
  ["UNAVAILABLE", 14],
  ["DATA_LOSS", 15],
  ["UNAUTHENTICATED", 16],
])("%s in the body of an answer is %i", (name, status) => {
  expect(statusNumber({ code: 400, message: body(name) })).toBe(status);
  // The error says what it is, however it arrived.
  const overGrpc = signerErrorFrom({ code: status }, SUBJECT);
  expect(overGrpc.message).toContain(`(${name})`);
  expect(signerErrorFrom({ code: 400, message: body(name) }, SUBJECT)).toMatchObject({
    code: overGrpc.code,
    message: overGrpc.message,
  });
});

describe("the state of a version in a message", () => {
  test.each<[message: string, state: string | undefined]>([
    ["x is not enabled, current state is: DISABLED.", "DISABLED"],
    [`current state is: ${"A".repeat(40)}`, "A".repeat(40)],
    [`current state is: ${"A".repeat(41)}`, undefined],
    ["current state is: disabled", undefined],
    ["state is DISABLED", undefined],
  ])("%j is %s", (message, state) => {
    expect(stateInMessage({ message })).toBe(state);
  });

  test("is of no other status", () => {
    const message = "current state is: DESTROYED";
    expect(signerErrorFrom({ code: 9, message }, SUBJECT).message).toBe("cannot sign with v: the version is DESTROYED");
    expect(signerErrorFrom({ code: 5, message }, SUBJECT).message).toContain("NOT_FOUND");
    expect(signerErrorFrom({ code: 5, message }, SUBJECT, "DESTROYED").code).toBe("key_not_found");
  });

  test("of a stream that ended counts with its own status alone", () => {
    expect(signerErrorFrom({ code: 1, details: "Call cancelled" }, SUBJECT).code).toBe("timeout");
    expect(signerErrorFrom({ code: 8, details: "Call cancelled" }, SUBJECT).code).toBe("throttled");
    const calm = "Bandwidth exhausted or memory limit exceeded";
    expect(signerErrorFrom({ code: 8, details: calm }, SUBJECT).code).toBe("unavailable");
    expect(signerErrorFrom({ code: 1, details: calm }, SUBJECT).message).toContain("cancelled in transit");
  });

  test("a checksum that is refused is damage with its own status alone", () => {
    const message = "field digest_crc32c did not match";
    expect(signerErrorFrom({ code: 3, message }, SUBJECT)).toMatchObject({ code: "integrity", transient: true });
    expect(signerErrorFrom({ code: 3, message: "digestCrc32c" }, SUBJECT)).toMatchObject({ code: "integrity" });
    expect(signerErrorFrom({ code: 5, message }, SUBJECT)).toMatchObject({ code: "key_not_found" });
    expect(signerErrorFrom({ code: 3, message: "crc32c" }, SUBJECT)).toMatchObject({ code: "invalid_argument" });
  });
});

describe("a code is of the network", () => {
  test.each(["EADDRINUSE", "EAI_AGAIN", "ECONNRESET", "EHOSTUNREACH", "ENETDOWN", "EMFILE", "ENFILE", "ENOBUFS"])(
    "%s",
    (code) => {
      expect(isNetworkCode(code)).toBe(true);
    },
  );
  test.each([
    "ETIMEDOUT",
    "ETIMEOUT",
    "EPIPE",
    "EPROTO",
    "ENOTFOUND",
    "ESHUTDOWN",
    "UND_ERR_SOCKET",
    "UND_ERR_BODY_TIMEOUT",
    "HPE_X",
    "Z_BUF_ERROR",
    "CERT_HAS_EXPIRED",
  ])("%s", (code) => {
    expect(isNetworkCode(code)).toBe(true);
  });
  test.each(["ENOENT", "EACCES", "UND_ERR_SOCKETS", "UND_ERR_INVALID_ARG", "XHPE_X", "ERR_STREAM_X", ""])(
    "but not %j",
    (code) => {
      expect(isNetworkCode(code)).toBe(false);
    },
  );

  test("four causes deep, and no deeper", () => {
    const nested = (depth: number, code: string): object =>
      depth === 0 ? { code } : { cause: nested(depth - 1, code) };
    expect([0, 3, 4].map((depth) => networkCode(nested(depth, "EPIPE")))).toEqual(["EPIPE", "EPIPE", undefined]);
    expect([0, 3, 4].map((depth) => failingFileCode(nested(depth, "EIO")))).toEqual(["EIO", "EIO", undefined]);
    expect([failingFileCode({ code: "ESTALE" }), failingFileCode({ code: "ENOENT" })]).toEqual(["ESTALE", undefined]);
    expect(networkCode(undefined)).toBeUndefined();
  });
});

test("what the client says of itself and of its answers is recognized", () => {
  const CLOSED = "The client has already been closed.";
  expect([CLOSED, { message: CLOSED }, { message: CLOSED, code: 1 }, "closed", {}].map(isClosedClient)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(
    [{ name: "SyntaxError" }, { message: "x is not valid JSON" }, { message: "Unexpected end of JSON" }, {}].map(
      isNoJson,
    ),
  ).toEqual([true, true, true, false]);
  expect([{ type: "max-redirect" }, { type: "x" }, {}].map(isRedirectError)).toEqual([true, false, false]);
});

describe("details are shown", () => {
  test.each<[details: unknown, isShown: boolean]>([
    ["no such key", true],
    ["ya29.secret", false],
    ["Unexpected token h in JSON at position 1", false],
    [7, false],
  ])("if they are %j: %s", (details, isShown) => {
    const cause = causeOf(Object.assign(new Error("x"), { details, code: 5 })) as object;
    expect(cause).toMatchObject({ code: 5 });
    expect("details" in cause).toBe(isShown);
  });
});

describe("credentials that did not come", () => {
  const ASKED = "the source of Google credentials, https://sts.example,";
  const config = { url: "https://sts.example/v1/token?secret" };
  test.each<[what: string, error: object, code: SignerErrorCode, text: string]>([
    ["a closed client", { message: "The client has already been closed." }, "closed", "the client is closed"],
    ["status 299", { status: 299, config }, "access_denied", "no usable Google credentials were found"],
    ["status 300", { status: 300, config }, "unavailable", `${ASKED} answered HTTP 300`],
    ["status 399", { status: 399, config }, "unavailable", `${ASKED} answered HTTP 399`],
    [
      "status 400",
      { status: 400, config },
      "access_denied",
      `could not get an access token: ${ASKED} answered HTTP 400`,
    ],
    ["status 408", { status: 408, config }, "timeout", `${ASKED} answered HTTP 408`],
    ["status 429", { status: 429, config }, "throttled", `${ASKED} answered HTTP 429`],
    [
      "status 499",
      { status: 499, config },
      "access_denied",
      `could not get an access token: ${ASKED} answered HTTP 499`,
    ],
    ["status 500", { status: 500, config }, "unavailable", `${ASKED} answered HTTP 500`],
    ["status 504", { status: 504, config }, "timeout", `${ASKED} answered HTTP 504`],
    ["status 599", { status: 599, config }, "unavailable", `${ASKED} answered HTTP 599`],
    ["a number that is no status", { status: 600, config }, "access_denied", "no usable Google credentials were found"],
    [
      "a status of its response",
      { response: { status: 503 } },
      "unavailable",
      "the source of Google credentials answered HTTP 503",
    ],
    [
      "a status as its code",
      { code: 503, config: { url: new URL(config.url) } },
      "unavailable",
      `${ASKED} answered HTTP 503`,
    ],
    [
      "an unreachable source",
      { code: "ECONNREFUSED", config },
      "unavailable",
      `${ASKED} cannot be reached (ECONNREFUSED)`,
    ],
    [
      "a source that is no HTTP",
      { code: "HPE_INVALID_CONSTANT", config },
      "unavailable",
      `${ASKED} gave an unreadable answer`,
    ],
    [
      "a redirect to nowhere",
      { type: "invalid-redirect", config },
      "unavailable",
      `${ASKED} gave an unreadable answer`,
    ],
    [
      "no token",
      { message: "The answer has no access token" },
      "unavailable",
      "the source of Google credentials gave an unreadable answer",
    ],
    [
      "a disk that fails",
      { code: "EIO" },
      "unavailable",
      "a file with Google credentials is temporarily unreadable (EIO)",
    ],
    ["a timeout by name", { name: "TimeoutError", config }, "timeout", `${ASKED} did not answer in time`],
    ["a timeout by code", { code: "AbortError" }, "timeout", "the source of Google credentials did not answer in time"],
    [
      "a timeout in the cause",
      { cause: { name: "AbortError" } },
      "timeout",
      "the source of Google credentials did not answer in time",
    ],
    [
      "a timeout in words",
      { message: "request timed out" },
      "timeout",
      "the source of Google credentials did not answer in time",
    ],
    [
      "a file that is missing",
      { message: "ENOENT: no such file, open '/run/key.json'" },
      "access_denied",
      "no usable Google credentials were found: the file /run/key.json is missing",
    ],
    [
      "a file that may be a secret",
      { message: "ENOENT: no such file, open 'ey J'" },
      "access_denied",
      "no usable Google credentials were found: a file is missing",
    ],
    [
      "a file that the SDK names",
      { message: "The file at /run/token does not exist" },
      "access_denied",
      "no usable Google credentials were found: the file /run/token is missing",
    ],
    ["no JSON", { name: "SyntaxError" }, "access_denied", "no usable Google credentials were found: they are not JSON"],
    [
      "a broken key",
      { message: "DECODER routines::unsupported" },
      "access_denied",
      "no usable Google credentials were found: their private key cannot be read",
    ],
    [
      "an executable",
      { message: "The executable failed" },
      "access_denied",
      "no usable Google credentials were found: the executable that provides them failed",
    ],
    [
      "an insecure source",
      new InsecureSourceError("expected https"),
      "access_denied",
      "no usable Google credentials were found: expected https",
    ],
  ])("because of %s", (_what, error, code, text) => {
    const found = credentialsError(error, SUBJECT);
    expect(found).toMatchObject({ code, message: `cannot sign with v: ${text}` });
    expect(credentialsError(found, SUBJECT)).toBe(found);
  });

  test("because there is no source at all, or because the one of the environment is away", () => {
    const error = { message: "Could not load the default credentials. Browse to" };
    vi.stubEnv("GCE_METADATA_IP", "");
    vi.stubEnv("GCE_METADATA_HOST", "");
    expect(credentialsError(error, SUBJECT)).toMatchObject({ code: "access_denied", transient: false });
    vi.stubEnv("GCE_METADATA_HOST", "metadata.example");
    expect(credentialsError(error, SUBJECT)).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("the metadata server metadata.example, which the environment names") as string,
    });
    vi.stubEnv("GCE_METADATA_IP", "10.0.0.1");
    expect(credentialsError(error, SUBJECT).message).toContain("the metadata server 10.0.0.1,");
  });

  test.each<[status: number | undefined, code: SignerErrorCode | undefined, text?: string]>([
    [undefined, "timeout", "late: https://sts.example did not answer"],
    [299, undefined],
    [300, "unavailable", `cannot sign with v: ${ASKED} answered HTTP 300`],
    [429, "throttled", `cannot sign with v: ${ASKED} answered HTTP 429`],
    [403, "access_denied", `cannot sign with v: could not get an access token: ${ASKED} answered HTTP 403`],
  ])("in time, whose last answer had the status %s", (status, code, text) => {
    const error = lateError({ origin: "https://sts.example", status }, SUBJECT, "late");
    expect(error?.code).toBe(code);
    if (text !== undefined) expect(error?.message).toBe(text);
    expect(lateError(undefined, SUBJECT, "late")).toBeUndefined();
  });

  test("from a plugin of gRPC say so only behind its words", () => {
    const message = (said: string): string => `x: Getting metadata from plugin failed with error: ${said}`;
    expect(pluginFailure({ message: "x", code: 503 })).toBeUndefined();
    expect(pluginFailure({ message: message("x"), code: 503 })).toMatchObject({ code: "unavailable" });
    expect(pluginFailure({ message: message("The executable failed"), code: 2 })).toMatchObject({
      code: "access_denied",
    });
    expect(pluginFailure({ message: message("x"), code: 2 })).toEqual({
      code: "unavailable",
      text: "could not get an access token",
    });
  });
});

describe("a header without a token is refused", () => {
  test.each<[authorization: string | undefined, isRefused: boolean]>([
    ["Bearer undefined", true],
    ["Bearer null", true],
    ["Bearer ", true],
    ["Bearer", true],
    ["Bearer ya29.x", false],
    ["Bearer undefined2", false],
    ["Basic x", false],
  ])("%j: %s", (authorization, isRefused) => {
    for (const headers of [{ Authorization: authorization }, new Headers({ authorization: authorization ?? "" })]) {
      if (isRefused) expect(() => requireToken(headers)).toThrow("The answer has no access token");
      else expect(() => requireToken(headers)).not.toThrow();
    }
  });

  test("but none at all is the client's affair", () => {
    for (const headers of [undefined, {}, new Headers()]) expect(() => requireToken(headers)).not.toThrow();
  });
});

describe("a file with credentials", () => {
  const NAMES = ["token_url", "tokenUrl", "service_account_impersonation_url", "serviceAccountImpersonationUrl"];
  test.each(NAMES)("may not name a plain http endpoint in %s", (name) => {
    const insecure = { [name]: "http://sts.example/token" };
    const expected = `expected https, or http on the loopback interface, for ${name} in their file`;
    expect(() => requireSecureSources({ jsonContent: insecure })).toThrow(expected);
    expect(() => requireSecureSources({ jsonContent: { source_credentials: insecure } })).toThrow(expected);
    for (const url of ["https://sts.example", "http://127.0.0.1:1", "http://[::1]/", "no URL", 7]) {
      expect(() => requireSecureSources({ jsonContent: { [name]: url } })).not.toThrow();
    }
  });

  test("may be missing", () => {
    for (const auth of [undefined, {}, { jsonContent: null }]) expect(() => requireSecureSources(auth)).not.toThrow();
  });
});

describe("the name", () => {
  const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
  test.each<[name: string, parsed: object]>([
    [KEY, { kind: "key", cryptoKey: KEY }],
    [`${KEY}/cryptoKeyVersions/3`, { kind: "version", keyVersion: `${KEY}/cryptoKeyVersions/3` }],
    [`${KEY}/versions/3`, { kind: "version", keyVersion: `${KEY}/cryptoKeyVersions/3` }],
    [
      `${KEY}/versions/1${"0".repeat(18)}`,
      { kind: "version", keyVersion: `${KEY}/cryptoKeyVersions/1${"0".repeat(18)}` },
    ],
    [KEY.replace("/r/", `/${"r".repeat(63)}/`), { kind: "key" }],
  ])("%s is read", (name, parsed) => {
    expect(parseKeyName("keyVersion", name)).toMatchObject(parsed);
    expect(isKeyVersionName(name)).toBe("keyVersion" in parsed);
  });

  test.each([
    `${KEY}/versions/0`,
    `${KEY}/versions/03`,
    `${KEY}/versions/1${"0".repeat(19)}`,
    KEY.replace("/r/", `/${"r".repeat(64)}/`),
    `x${KEY}`,
    `${KEY}x/`,
    "",
  ])("%s is refused", (name) => {
    expect(() => parseKeyName("keyVersion", name)).toThrow(/^keyVersion: expected projects\/PROJECT/);
    expect(isKeyVersionName(name)).toBe(false);
  });

  test("is shown where it cannot be a secret, up to 512 characters", () => {
    const shown = (name: unknown): string => {
      try {
        return parseCryptoKey(name);
      } catch (error) {
        return String(error).replace(/^.*, got /s, "");
      }
    };
    expect(shown("a/b")).toBe("a/b");
    expect(shown("https://user:pass@host")).toBe("a string");
    expect(shown("a".repeat(512))).toBe("a".repeat(512));
    expect(shown("a".repeat(513))).toBe("a string");
    expect(shown(7)).toBe("7");
    expect(shown(`${KEY}/versions/1`)).toBe(`${KEY}/versions/1`);
  });

  test("of a project may be its number", () => {
    const byNumber = KEY.replace("/p/", "/123/");
    expect([projectOf(KEY), projectOf(byNumber), projectOf("p")]).toEqual(["p", "123", undefined]);
    expect(namesProjectOtherwise(KEY, byNumber)).toBe(true);
    expect(namesProjectOtherwise(byNumber, KEY)).toBe(true);
    expect(namesProjectOtherwise(KEY, KEY.replace("/p/", "/q/"))).toBe(false);
    expect(namesProjectOtherwise(byNumber, KEY.replace("/p/", "/124/"))).toBe(false);
    expect(namesProjectOtherwise(KEY, `${byNumber}2`)).toBe(false);
    expect(namesProjectOtherwise("x", "y")).toBe(false);
  });
});
