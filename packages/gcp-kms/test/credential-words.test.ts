import { afterEach, describe, expect, test, vi } from "vitest";
import { credentialsError, lateError, pluginFailure, requireToken } from "../src/credential-errors.ts";
import { InsecureSourceError, requireSecureSources } from "../src/secure-sources.ts";

afterEach(() => void vi.unstubAllEnvs());

const SUBJECT = { action: "sign with", name: "v" };
const PREFIX = "cannot sign with v: ";
const SOURCE = `${PREFIX}the source of Google credentials`;
const NONE = `${PREFIX}no usable Google credentials were found`;
const textOf = (error: unknown): string => credentialsError(error, SUBJECT).message;

describe("the words of an error of a source", () => {
  const UNREADABLE = `${SOURCE} gave an unreadable answer`;
  const LATE = `${SOURCE} did not answer in time`;
  test.each([
    ["The answer has no access token", UNREADABLE],
    ["The answer has no access token here", NONE],
    ["x The answer has no access token", NONE],
    ["Unable to parse the subject_token from the credential_source URL", UNREADABLE],
    ["Invalid response from metadata service: incorrect Metadata-Flavor", UNREADABLE],
    ["x Invalid response from metadata service", NONE],
    ["Cannot create property 'refresh_token' on string '<html>'", UNREADABLE],
    ["x Cannot create property 'refresh_token' on string", NONE],
    ["Cannot create property 'refresh token' on string", NONE],
    ["Cannot set properties of null (setting 'x')", UNREADABLE],
    ["Cannot read properties of null (reading 'x')", UNREADABLE],
    ["Cannot read properties of undefined", NONE],
    ["network timeout at: x", LATE],
    ["request timed out", LATE],
    ["Request Time out", LATE],
    ["timedout", LATE],
    ["my_timeout", NONE],
    ["timeouts", NONE],
  ])("%j say: %s", (message, text) => {
    expect(textOf({ message })).toBe(text);
  });

  test.each([
    ["ENOENT: no such file, open '/run/key.json'", ": the file /run/key.json is missing"],
    ["The file at /run/key.json does not exist, or it is not a file", ": the file /run/key.json is missing"],
    ["the folder does not exist", ": a file is missing"],
    [`ENOENT '/${"k".repeat(64)}'`, `: the file /${"k".repeat(64)} is missing`],
    [`ENOENT '/${"k".repeat(65)}'`, ": a file is missing"],
    [`ENOENT '${"/k".repeat(16)}'`, `: the file ${"/k".repeat(16)} is missing`],
    [`ENOENT '${"/k".repeat(17)}'`, ": a file is missing"],
    ["ENOENT '/run/'", ": a file is missing"],
    ["The configured universe domain (a) was not found", ": they are for another universe domain than the client"],
    ["The executable failed with exit code: 1", ": the executable that provides them failed"],
    ["error:1E08010C:DECODER routines::unsupported", ": their private key cannot be read"],
    ["invalid pem", ": their private key cannot be read"],
    ["ASN1 wrong tag", ": their private key cannot be read"],
    ["no Private Key", ": their private key cannot be read"],
    ["x is not valid JSON", ": they are not JSON"],
    ["something else", ""],
  ])("%j give the hint %j", (message, hint) => {
    expect(textOf({ message })).toBe(`${NONE}${hint}`);
  });

  test("are looked at in an order", () => {
    const config = { url: "https://sts.example/token" };
    expect(textOf({ status: 503, code: "ECONNRESET" })).toBe(`${SOURCE} answered HTTP 503`);
    expect(textOf({ status: 503, code: "HPE_INVALID_CONSTANT" })).toBe(UNREADABLE);
    expect(textOf({ status: 503, response: { status: 429 } })).toBe(`${SOURCE} answered HTTP 503`);
    expect(textOf({ status: 200, response: { status: 429 }, code: 404 })).toBe(`${SOURCE} answered HTTP 429`);
    expect(textOf({ code: "ETIMEDOUT", name: "AbortError" })).toBe(`${SOURCE} cannot be reached (ETIMEDOUT)`);
    expect(textOf({ cause: { code: "ESTALE" }, name: "AbortError" })).toBe(
      `${PREFIX}a file with Google credentials is temporarily unreadable (ESTALE)`,
    );
    expect(textOf({ status: 599, config })).toBe(`${SOURCE}, https://sts.example, answered HTTP 599`);
    expect(textOf({ status: 503, config: { url: "no URL" } })).toBe(`${SOURCE} answered HTTP 503`);
    expect(textOf({ status: 503, config: { url: 7 } })).toBe(`${SOURCE} answered HTTP 503`);
  });

  test("stay out of the cause, unless they are known to repeat nothing", () => {
    const error = Object.assign(new Error("secret"), { code: 400, config: { data: "secret" } });
    const { cause } = credentialsError(error, SUBJECT);
    expect(cause).toMatchObject({ code: 400 });
    expect(JSON.stringify(cause) + String(cause)).not.toContain("secret");
  });
});

describe("an error of a source inside a call over gRPC", () => {
  const PLUGIN = "Getting metadata from plugin failed with error: ";
  test.each<[message: string, code: unknown, text: string | undefined]>([
    [`${PLUGIN}x`, 503, "the source of Google credentials answered HTTP 503"],
    [
      `16 UNAUTHENTICATED: ${PLUGIN}x`,
      403,
      "could not get an access token: the source of Google credentials answered HTTP 403",
    ],
    [`${PLUGIN}x is not valid JSON`, 14, "no usable Google credentials were found: they are not JSON"],
    [`${PLUGIN}x`, 14, "could not get an access token"],
    [`${PLUGIN}x`, 600, "could not get an access token"],
    ["ENOENT in front of Getting metadata", 503, undefined],
    [`ENOENT ${PLUGIN}x`, 14, "could not get an access token"],
  ])("%j with the code %j says: %s", (message, code, text) => {
    expect(pluginFailure({ message, code })?.text).toBe(text);
  });

  test("says if there is no source", () => {
    const message = `2 UNKNOWN: ${PLUGIN}Could not load the default credentials. Browse to`;
    vi.stubEnv("GCE_METADATA_HOST", "");
    vi.stubEnv("GCE_METADATA_IP", "");
    expect(pluginFailure({ message, code: 2 })).toMatchObject({ code: "access_denied" });
    vi.stubEnv("GCE_METADATA_HOST", "metadata.example");
    expect(pluginFailure({ message, code: 2 })).toMatchObject({ code: "unavailable" });
  });
});

test("an answer that came too late is judged by its status", () => {
  const codeOf = (status: number): unknown => lateError({ origin: "https://a", status }, SUBJECT, "late")?.code;
  expect([200, 299, 300, 399, 400, 408, 429, 499, 500, 504].map(codeOf)).toEqual([
    undefined,
    undefined,
    "unavailable",
    "unavailable",
    "access_denied",
    "timeout",
    "throttled",
    "access_denied",
    "unavailable",
    "timeout",
  ]);
});

test("an authorization that only contains such words is a token", () => {
  for (const authorization of ["x Bearer undefined", "Bearer undefined x", "bearer undefined"]) {
    expect(() => requireToken({ Authorization: authorization })).not.toThrow();
  }
});

test("a later step of impersonation is checked too, if the first names nothing insecure", () => {
  const insecure = { tokenUrl: "http://sts.example" };
  const jsonContent = { token_url: "https://sts.example", source_credentials: insecure };
  expect(() => requireSecureSources({ jsonContent })).toThrow(InsecureSourceError);
  expect(() => requireSecureSources({ jsonContent: { tokenUrl: "ftp://sts.example" } })).not.toThrow();
});
