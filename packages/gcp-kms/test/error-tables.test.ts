import { describe, expect, test } from "vitest";
import {
  causeOf,
  failingFileCode,
  isClosedClient,
  isNetworkCode,
  isNoJson,
  isRedirectError,
  isUnreadableCode,
  networkCode,
  sourceCauseOf,
} from "../src/client-error.ts";
import { isUnauthenticated, signerErrorFrom, stateInMessage, statusNumber } from "../src/errors.ts";

const SUBJECT = { action: "sign with", name: "v" };
const body = (status: unknown): string => JSON.stringify({ error: { status } });

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
    const insecure = {
      details: "Protocol not secure enough",
      message: "7 PERMISSION_DENIED: Protocol not secure enough",
    };
    const refused = "cannot sign with v: the other side refused the TLS of the connection (INADEQUATE_SECURITY)";
    expect(signerErrorFrom({ ...insecure, code: 7 }, { ...SUBJECT, permission: "useToSign" }).message).toBe(refused);
    expect(signerErrorFrom({ ...insecure, code: 5 }, SUBJECT).code).toBe("key_not_found");
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
    "ERR_PROXY_TUNNEL",
    "UND_ERR_SOCKET",
    "UND_ERR_BODY_TIMEOUT",
    "HPE_X",
    "Z_BUF_ERROR",
    "CERT_HAS_EXPIRED",
  ])("%s", (code) => {
    expect(isNetworkCode(code)).toBe(true);
  });
  test.each([
    "ENOENT",
    "EACCES",
    "UND_ERR_SOCKETS",
    "UND_ERR_INVALID_ARG",
    "XHPE_X",
    "XZ_BUF_ERROR",
    "ERR_STREAM_X",
    "ERR_SOCKET_BAD_PORT",
    "ERR_PROXY_INVALID_CONFIG",
    "XECONNRESET",
    "MY_UND_ERR_SOCKET",
    "",
  ])("but not %j", (code) => {
    expect(isNetworkCode(code)).toBe(false);
    expect(networkCode({ code })).toBeUndefined();
    expect(statusNumber({ code })).toBeUndefined();
  });

  test("or unreadable, if it is of a parser", () => {
    const codes = ["HPE_INVALID_CONSTANT", "Z_DATA_ERROR", "XHPE_X", "XZ_DATA_ERROR", "ECONNRESET"];
    expect(codes.map(isUnreadableCode)).toEqual([true, true, false, false, false]);
  });

  test("only as a text", () => {
    expect([networkCode({ code: 14 }), networkCode({ code: ["EPIPE"] })]).toEqual([undefined, undefined]);
  });

  test("four causes deep, and no deeper", () => {
    const nested = (depth: number, code: string): object =>
      depth === 0 ? { code } : { cause: nested(depth - 1, code) };
    expect([0, 3, 4].map((depth) => networkCode(nested(depth, "EPIPE")))).toEqual(["EPIPE", "EPIPE", undefined]);
    expect([0, 3, 4].map((depth) => failingFileCode(nested(depth, "EIO")))).toEqual(["EIO", "EIO", undefined]);
    const codes = ["ESTALE", "ENOENT", "XEIO", "EIOX", "XESTALE", "ESTALED"];
    expect(codes.map((code) => failingFileCode({ code }))).toEqual(["ESTALE", ...codes.slice(1).map(() => undefined)]);
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

describe("the cause of credentials that did not come", () => {
  const SDK = "Could not load the default credentials. Browse to a guide";
  const FILE =
    "The file at /run/key.json does not exist, or it is not a file. ENOENT: no such file, lstat '/run/key.json'";
  const VARIABLE =
    "Unable to read the credential file specified by the GOOGLE_APPLICATION_CREDENTIALS environment variable: ";
  test.each<[message: string, isShown: boolean]>([
    [SDK, true],
    [`x ${SDK}`, false],
    ["The answer has no access token", true],
    ["The answer has no access token: secret", false],
    ["x The answer has no access token", false],
    ["expected https, or http on the loopback interface, for token_url in their file", true],
    ["x expected https, or http on the loopback interface", false],
    [FILE, true],
    [`${VARIABLE}${FILE}`, true],
    [`secret ${FILE}`, false],
    [`${FILE} secret`, false],
    [FILE.replace("/run/key.json", "{secret}"), false],
    [FILE.replaceAll("/run/key.json", `/${"k".repeat(64)}`), true],
    [FILE.replaceAll("/run/key.json", `/${"k".repeat(65)}`), false],
    [FILE.replaceAll("/run/key.json", "/k".repeat(16)), true],
    [FILE.replaceAll("/run/key.json", "/k".repeat(17)), false],
    ["secret", false],
  ])("shows %j: %s", (message, isShown) => {
    const cause = sourceCauseOf(Object.assign(new Error(message), { code: "ENOENT", status: 400, config: "secret" }));
    expect(cause).toMatchObject({ code: "ENOENT", status: 400 });
    expect(cause).not.toHaveProperty("config");
    if (isShown) expect(cause).toMatchObject({ message });
    else expect(String(Reflect.get(Object(cause), "message"))).not.toContain("secret");
    expect(String(Reflect.get(Object(cause), "message")) === message).toBe(isShown);
  });
});

test("the cause of a call shows what says more, and no other member", () => {
  const error = {
    code: 7,
    reason: "R",
    domain: "D",
    status: "S",
    httpStatusCode: 403,
    details: "no",
    request: "secret",
  };
  const { request: _hidden, ...shown } = error;
  const cause = causeOf(Object.assign(new Error("7 PERMISSION_DENIED: no"), error));
  expect(cause).toMatchObject({ ...shown, message: "7 PERMISSION_DENIED: no" });
  expect(cause).not.toHaveProperty("request");
});

test.each<[error: object, status: number | undefined]>([
  [{ code: 9, httpStatusCode: 299 }, undefined],
  [{ code: 9, httpStatusCode: 300 }, 300],
  [{ code: 9, httpStatusCode: 399 }, 399],
  [{ code: 9, httpStatusCode: 400 }, undefined],
  [{ code: 300 }, 300],
  [{ code: 399 }, 399],
  [{ code: 400 }, undefined],
  [{ code: "ECONNRESET", httpStatusCode: "307" }, undefined],
])("a redirect that was not followed is told by its status: %j", (error, status) => {
  const { code, message } = signerErrorFrom(error, SUBJECT);
  const text = `cannot sign with v: something that is not the service answered (HTTP ${status})`;
  expect(message === text).toBe(status !== undefined);
  if (status !== undefined) expect(code).toBe("unavailable");
});
