import { describe, expect, test } from "vitest";
import { credentialsErrorFrom, providerRow, sourceRow } from "../src/credential-errors.ts";

describe("what an error of a source says", () => {
  const provider = (message: string): object => ({ name: "CredentialsProviderError", message });
  const answered = { source: "container", origin: "http://a", status: 200 } as const;
  const AWAY = "could not get credentials: their source is unreachable";
  const UNREADABLE = "could not get credentials: the answer of their source is unreadable";

  test.each([
    ["connect ECONNREFUSED 127.0.0.1:1", AWAY],
    ["connect ETIMEDOUT", AWAY],
    ["write EPIPE", AWAY],
    ["EHOSTUNREACH", AWAY],
    ["ENETUNREACH", AWAY],
    ["getaddrinfo EAI_AGAIN a", AWAY],
    ["getaddrinfo ENOTFOUND a", AWAY],
    ["socket hang up", AWAY],
    ["TimeoutError: x", AWAY],
    ["XECONNREFUSED", "could not get credentials"],
    ["XENOTFOUND", "could not get credentials"],
    ["InternalError", AWAY],
    ["ServiceUnavailable", AWAY],
    ["TooManyRequests", AWAY],
    ["ThrottlingException", AWAY],
    ["RequestTimeout", AWAY],
    ["Error: SyntaxError", AWAY],
    ["x Internal", "could not get credentials"],
    ["Error: Error: Internal", "could not get credentials"],
  ])("%j without a request is: %s", (message, text) => {
    expect(providerRow(provider(message), undefined)?.text).toBe(text);
  });

  test.each([
    ["Unexpected token in JSON", UNREADABLE],
    ["SyntaxError: x", UNREADABLE],
    ["x SyntaxError", "could not get credentials"],
    ["XJSON", "could not get credentials"],
    ["Invalid response from STS.assumeRole", UNREADABLE],
    ["SSO returns an invalid temporary credential.", UNREADABLE],
    ["x Invalid response from STS.", "could not get credentials"],
    ["x SSO returns an invalid temporary credential", "could not get credentials"],
  ])("%j after an answer is: %s", (message, text) => {
    expect(credentialsErrorFrom(provider(message), { ...answered, response: { complete: true } }).message).toBe(text);
  });

  test.each<[code: string, isUnreadable: boolean]>([
    ["ERR_UNESCAPED_CHARACTERS", true],
    ["ERR_INVALID_CHAR", true],
    ["XERR_INVALID_CHAR", false],
    ["ERR_INVALID_CHARS", false],
  ])("the code %s after an answer of the metadata service is of its answer: %s", (code, isUnreadable) => {
    const row = sourceRow({ name: "TypeError", message: "x", code }, { ...answered, source: "metadata" });
    expect(row?.text === UNREADABLE).toBe(isUnreadable);
    expect(sourceRow({ name: "TypeError", message: "x", code }, answered)).toBeUndefined();
  });

  test.each(["CredentialsProviderError", "TokenProviderError", "ProviderError", "InstanceMetadataV1FallbackError"])(
    "%s is of a source",
    (name) => {
      expect(providerRow({ name, message: "x" }, undefined)).toMatchObject({ code: "access_denied" });
      expect(providerRow({ name: `${name}s`, message: "x" }, undefined)).toBeUndefined();
    },
  );
});
