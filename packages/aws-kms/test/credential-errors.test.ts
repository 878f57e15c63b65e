import { describe, expect, test } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import { CredentialsError, credentialsErrorFrom, providerRow, sourceRow } from "../src/credential-errors.ts";
import type { SourceRequest } from "../src/credential-requests.ts";

const named = (name: string, members: object = {}): object => ({ name, message: "made up", ...members });

describe("credentials that did not come", () => {
  const asked = (members: Partial<SourceRequest>): SourceRequest => ({
    source: "sso",
    origin: "https://sso.example",
    status: undefined,
    ...members,
  });
  const PREFIX = "could not get credentials";
  const SOURCE = "their source, https://sso.example,";
  const UNREADABLE = `${PREFIX}: the answer of their source is unreadable`;
  const provider = named("CredentialsProviderError");

  test.each<[what: string, error: object, last: SourceRequest | undefined, code: SignerErrorCode, text: string]>([
    ["no source", provider, undefined, "access_denied", PREFIX],
    ["a source that is silent", provider, asked({}), "unavailable", `${PREFIX}: ${SOURCE} is unreachable`],
    [
      "a source without an origin",
      provider,
      asked({ origin: undefined }),
      "unavailable",
      `${PREFIX}: their source is unreachable`,
    ],
    ["no metadata service, which most machines lack", provider, asked({ source: "metadata" }), "access_denied", PREFIX],
    [
      "an answer that ended early",
      provider,
      asked({ source: "container", status: 200, response: { complete: false } }),
      "unavailable",
      `${PREFIX}: ${SOURCE} is unreachable`,
    ],
    [
      "an answer without credentials",
      provider,
      asked({ source: "container", status: 200, response: { complete: true } }),
      "access_denied",
      PREFIX,
    ],
    ["status 299", provider, asked({ source: "container", status: 299 }), "access_denied", PREFIX],
    ["status 300", provider, asked({ status: 300 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 300`],
    ["status 399", provider, asked({ status: 399 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 399`],
    ["status 400", provider, asked({ status: 400 }), "access_denied", `${PREFIX}: ${SOURCE} answered HTTP status 400`],
    ["status 407", provider, asked({ status: 407 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 407`],
    ["status 408", provider, asked({ status: 408 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 408`],
    ["status 429", provider, asked({ status: 429 }), "throttled", `${PREFIX}: ${SOURCE} answered HTTP status 429`],
    ["status 499", provider, asked({ status: 499 }), "access_denied", `${PREFIX}: ${SOURCE} answered HTTP status 499`],
    ["status 500", provider, asked({ status: 500 }), "unavailable", `${PREFIX}: ${SOURCE} answered HTTP status 500`],
    [
      "a lost connection in a message",
      { ...provider, message: "connect ECONNREFUSED" },
      undefined,
      "unavailable",
      `${PREFIX}: their source is unreachable`,
    ],
    [
      "a service that is down in a message",
      { ...provider, message: "Error: ServiceUnavailable" },
      undefined,
      "unavailable",
      `${PREFIX}: their source is unreachable`,
    ],
    [
      "a system error",
      { ...provider, code: "ENOTFOUND" },
      undefined,
      "unavailable",
      `${PREFIX}: their source is unreachable`,
    ],
    ["an answer that is not JSON", named("SyntaxError"), asked({ status: 200 }), "unavailable", UNREADABLE],
    [
      "JSON in a message",
      { ...provider, message: "is not valid JSON" },
      asked({ source: "container", status: 200 }),
      "unavailable",
      UNREADABLE,
    ],
    ["a successful answer of SSO that helped nothing", provider, asked({ status: 200 }), "unavailable", UNREADABLE],
    [
      "a role that fits into no path",
      named("TypeError", { code: "ERR_UNESCAPED_CHARACTERS" }),
      asked({ source: "metadata", status: 200 }),
      "unavailable",
      UNREADABLE,
    ],
    [
      "an answer of STS without credentials",
      { ...provider, message: "Invalid response from STS.assumeRole call" },
      undefined,
      "unavailable",
      UNREADABLE,
    ],
    [
      "an endpoint of a container with another protocol",
      named("TypeError", { code: "ERR_INVALID_PROTOCOL" }),
      asked({ source: "container" }),
      "unavailable",
      `${PREFIX}: ${SOURCE} is unreachable`,
    ],
    ["a refusal of STS", named("AccessDenied"), undefined, "access_denied", `${PREFIX}: not allowed by a policy`],
    ["a throttled STS", named("Throttling"), undefined, "throttled", `${PREFIX}: over a request quota`],
    ["a silent STS", named("TimeoutError"), undefined, "timeout", `${PREFIX}: no answer in time`],
    [
      "an STS that cannot be reached",
      { code: "ENOTFOUND" },
      undefined,
      "unavailable",
      `${PREFIX}: the service cannot be reached`,
    ],
    [
      "an unknown error of STS",
      named("SomethingNew"),
      undefined,
      "access_denied",
      `${PREFIX}: the client failed for an unknown reason`,
    ],
    ["a cut answer of STS", named("x", { $metadata: { httpStatusCode: 200 } }), undefined, "unavailable", UNREADABLE],
    [
      "a token file that is missing",
      { code: "ENOENT", syscall: "open" },
      undefined,
      "access_denied",
      `${PREFIX}: ENOENT`,
    ],
  ])("because of %s", (_what, error, last, code, text) => {
    const found = credentialsErrorFrom(error, last);
    expect(found).toMatchObject({ name: "CredentialsError", message: text, row: { code, text }, cause: error });
    expect(credentialsErrorFrom(found, undefined)).toBe(found);
  });

  test("are not what another error is about", () => {
    const kms = named("SyntaxError", { $metadata: { httpStatusCode: 200 } });
    expect(sourceRow(kms, asked({ status: 200 }))).toBeUndefined();
    expect(sourceRow(named("SyntaxError"), asked({ status: 300 }))).toBeUndefined();
    expect(sourceRow(named("SyntaxError"), undefined)).toBeUndefined();
    expect(sourceRow(named("AccessDenied"), asked({ status: 200 }))).toBeUndefined();
    expect(providerRow(named("TypeError", { code: "ERR_INVALID_PROTOCOL" }), asked({}))).toBeUndefined();
    expect(new CredentialsError({ code: "timeout", text: "late" }, undefined).message).toBe("late");
  });
});
