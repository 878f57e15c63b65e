import { describe, expect, test } from "vitest";
import { SignerError, type SignerErrorCode } from "@signpost/core";
import { credentialError } from "../src/credential-errors.ts";

const told = (error: unknown): { code: SignerErrorCode; text: string } => {
  const { code, message } = credentialError(error);
  return { code, text: message.replace(/^the credential gave no token: /, "") };
};
const DOWN = "the identity provider is temporarily unavailable";
const AWAY = "the identity provider cannot be reached";
const REPEATED = "the identity provider was unavailable or limited the rate just before";
const UNREADABLE = "the answer of the identity provider is unreadable";
const REFUSED = "no identity, or its credentials are refused";

describe("a credential that fails", () => {
  test.each<[what: string, error: unknown, code: SignerErrorCode, text: string]>([
    ["with 429", { statusCode: 429 }, "throttled", "the identity provider limits the rate"],
    [
      "with 429 next to 500",
      { errors: [{ status: 500 }, { status: 429 }] },
      "throttled",
      "the identity provider limits the rate",
    ],
    [
      "with 429 in words of the provider",
      { name: "AuthenticationRequiredError", message: "too_many_requests: x" },
      "throttled",
      "the identity provider limits the rate (AuthenticationRequiredError)",
    ],
    ["with 406", { name: "AuthenticationError", statusCode: 406 }, "access_denied", `${REFUSED} (AuthenticationError)`],
    ["with 407", { statusCode: 407 }, "unavailable", `${DOWN}: HTTP status 407`],
    ["with 408", { statusCode: 408 }, "unavailable", `${DOWN}: HTTP status 408`],
    ["with 409", { name: "AuthenticationError", statusCode: 409 }, "access_denied", `${REFUSED} (AuthenticationError)`],
    ["with 410", { statusCode: 410 }, "unavailable", `${DOWN}: HTTP status 410`],
    ["with 499", { name: "AuthenticationError", statusCode: 499 }, "access_denied", `${REFUSED} (AuthenticationError)`],
    ["with 500", { status: 500 }, "unavailable", `${DOWN}: HTTP status 500`],
    ["with both statuses", { statusCode: 500, status: 400 }, "unavailable", `${DOWN}: HTTP status 500`],
    ["in words of the provider", { message: "server_error: x" }, "unavailable", DOWN],
    [
      "that repeats an outage",
      { name: "AuthenticationRequiredError", message: "90033 90034: AADSTS90033: A transient error has occurred." },
      "unavailable",
      `${REPEATED} (AuthenticationRequiredError, AADSTS90033)`,
    ],
    [
      "that repeats an outage without a number",
      { name: "AuthenticationError", statusCode: 400, message: "It failed.\nMore details:\n: slow down" },
      "unavailable",
      `${REPEATED} (AuthenticationError)`,
    ],
    [
      "with numbers in its words",
      { name: "AuthenticationRequiredError", message: "invalid_client: 7000222: x" },
      "access_denied",
      `${REFUSED} (AuthenticationRequiredError)`,
    ],
    ["without endpoints", { message: "endpoints_resolution_error" }, "unavailable", `${AWAY}, or has no such tenant`],
    ["in the network", { code: "ECONNREFUSED" }, "unavailable", AWAY],
    ["in the network, in words", { message: "connect ETIMEDOUT 10.0.0.1" }, "unavailable", AWAY],
    ["in Node's proxy agent", { cause: { code: "ERR_PROXY_TUNNEL" } }, "unavailable", AWAY],
    ["in undici", { cause: { code: "UND_ERR_SOCKET" } }, "unavailable", AWAY],
    [
      "in a chain",
      { name: "AggregateAuthenticationError", errors: [{ code: "EHOSTUNREACH" }] },
      "unavailable",
      `${AWAY}, or this machine has no identity (AggregateAuthenticationError)`,
    ],
    ["by an abort", { name: "AbortError" }, "timeout", "no answer in time (AbortError)"],
    ["by a timeout", { name: "TimeoutError" }, "timeout", "no answer in time (TimeoutError)"],
    [
      "for a file",
      { message: "EACCES: permission denied" },
      "access_denied",
      "a file that it needs cannot be read: EACCES",
    ],
    [
      "for a file inside",
      { cause: { message: "ENOENT: x" } },
      "access_denied",
      "a file that it needs cannot be read: ENOENT",
    ],
    ["by name", { name: "CredentialUnavailableError" }, "access_denied", `${REFUSED} (CredentialUnavailableError)`],
    [
      "by name, over an empty answer",
      { name: "CredentialUnavailableError", cause: new TypeError("Cannot read properties of undefined") },
      "unavailable",
      `${UNREADABLE} (CredentialUnavailableError)`,
    ],
    [
      "by name, over an answer that is no JSON",
      { name: "CredentialUnavailableError", cause: new SyntaxError("Unexpected token") },
      "unavailable",
      `${UNREADABLE} (CredentialUnavailableError)`,
    ],
    [
      "by name, over an answer without a token",
      { name: "AuthenticationRequiredError", message: 'Response had no "expiresOn" property.' },
      "unavailable",
      `${UNREADABLE} (AuthenticationRequiredError)`,
    ],
    [
      "by name, over an error that only looks like one of the language",
      { name: "CredentialUnavailableError", cause: { name: "MyTypeError" } },
      "access_denied",
      `${REFUSED} (CredentialUnavailableError)`,
    ],
    ["by a mistake in a function", new TypeError("x is not a function"), "unavailable", "it failed (TypeError)"],
    ["by another name", { name: "MyError" }, "unavailable", "it failed (MyError)"],
    ["with a name that may be a secret", { name: "my error" }, "unavailable", "it failed"],
    ["with a name that begins with one word more", { name: "my AuthenticationError" }, "unavailable", "it failed"],
    ["with a name that ends with one word more", { name: "AuthenticationError x" }, "unavailable", "it failed"],
    ["with a name of 64 letters", { name: "N".repeat(64) }, "unavailable", `it failed (${"N".repeat(64)})`],
    ["with a name of 65 letters", { name: "N".repeat(65) }, "unavailable", "it failed"],
    ["by what is no abort", { name: "MyAbortError" }, "unavailable", "it failed (MyAbortError)"],
    ["by what is no timeout", { name: "TimeoutErrors" }, "unavailable", "it failed (TimeoutErrors)"],
    ["with a code that is none", { code: "XECONNRESET" }, "unavailable", "it failed"],
    ["with a code that goes on", { code: "ENOTFOUND1" }, "unavailable", "it failed"],
    ["with words about a file", { message: "x ENOENT: y" }, "unavailable", "it failed"],
    ["with words that only begin so", { message: "ENOENT" }, "unavailable", "it failed"],
    ["with nothing", undefined, "unavailable", "it failed"],
  ])("%s", (_what, error, code, text) => {
    expect(told(error)).toEqual({ code, text });
  });

  test("says up to three reasons of the provider, each once", () => {
    const errors = ["AADSTS1000", "AADSTS70011: x", "AADSTS70011", "AADSTS700222", "AADSTS90002", "AADSTS123"].map(
      (message) => ({ message }),
    );
    expect(told({ name: "AuthenticationError", errors }).text).toBe(
      `${REFUSED} (AuthenticationError, AADSTS1000, AADSTS70011, AADSTS700222)`,
    );
    expect(told({ message: "AADSTS123456789" }).text).toBe("it failed");
  });

  test("is understood five causes deep, and twenty errors wide", () => {
    const nested = (depth: number): object => (depth === 0 ? { status: 429 } : { cause: nested(depth - 1) });
    expect([told(nested(5)).code, told(nested(6)).code]).toEqual(["throttled", "unavailable"]);
    const wide = (count: number): object => ({
      errors: [...Array.from({ length: count }, () => ({})), { status: 429 }],
    });
    expect([told(wide(19)).code, told(wide(20)).code]).toEqual(["throttled", "unavailable"]);
  });

  test("with an error of ours keeps it", () => {
    const error = new SignerError("timeout", "late");
    expect(credentialError(error)).toBe(error);
  });

  test("keeps the codes of its error, and none of its words", () => {
    const secret = Object.assign(new Error("tenant"), { code: "ECONNRESET", statusCode: 400, response: "tenant" });
    const { cause } = credentialError(secret);
    expect(cause).toMatchObject({ code: "ECONNRESET", statusCode: 400 });
    expect(JSON.stringify(cause) + String(cause)).not.toContain("tenant");
  });
});
