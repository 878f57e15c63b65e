import { afterEach, describe, expect, test, vi } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import { credentialsError, lateError, pluginFailure, requireToken } from "../src/credential-errors.ts";
import { InsecureSourceError, requireSecureSources } from "../src/secure-sources.ts";

const SUBJECT = { action: "sign with", name: "v" };

afterEach(() => void vi.unstubAllEnvs());

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
    ["status 407", { status: 407, config }, "unavailable", `${ASKED} answered HTTP 407`],
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
      "a source whose proxy closes the connection",
      {
        message:
          "request to https://sts.example/ failed, reason: Proxy connection ended before receiving CONNECT response",
        config,
      },
      "unavailable",
      `${ASKED} cannot be reached`,
    ],
    [
      "words about a request that did not fail",
      { message: "my request to x failed, reason: y" },
      "access_denied",
      "no usable Google credentials were found",
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
      "no token for a service account of Google Distributed Cloud",
      {
        message:
          "Error getting access token for GDCH service account: Token response did not contain an access_token., iss: op",
      },
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
    let jsonContent: object = insecure;
    for (let steps = 1; steps <= 4; steps += 1) {
      jsonContent = { source_credentials: jsonContent };
      expect(() => requireSecureSources({ jsonContent }), `${steps} steps`).toThrow(expected);
    }
    for (const url of ["https://sts.example", "http://127.0.0.1:1", "http://[::1]/", "no URL", 7]) {
      expect(() => requireSecureSources({ jsonContent: { [name]: url } })).not.toThrow();
    }
  });

  test("may be missing", () => {
    for (const auth of [undefined, {}, { jsonContent: null }]) expect(() => requireSecureSources(auth)).not.toThrow();
  });
});
