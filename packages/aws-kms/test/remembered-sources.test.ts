import { beforeEach, describe, expect, test, vi } from "vitest";
import { credentialsErrorFrom, nameOfSource, sourceRow } from "../src/credential-errors.ts";
import type { SourceRequest } from "../src/credential-requests.ts";

/** What the process remembers of earlier requests for credentials. */
const state = vi.hoisted(() => ({ renewal: undefined as unknown, isMetadataKnown: false }));
vi.mock("../src/credential-requests.ts", async (load) => ({
  ...(await load<typeof import("../src/credential-requests.ts")>()),
  lastRenewal: () => state.renewal,
  isMetadataKnown: () => state.isMetadataKnown,
}));
beforeEach(() => {
  state.renewal = undefined;
  state.isMetadataKnown = false;
});

const PREFIX = "could not get credentials";
const failed = (message = "made up"): object => ({ name: "TokenProviderError", message });
const asked = (members: Partial<SourceRequest>): SourceRequest => ({
  source: "sso",
  origin: "https://oidc.example",
  status: undefined,
  ...members,
});

describe("a session of SSO that is over", () => {
  const OVER = "Token is expired. To refresh this SSO session run 'aws sso login'";
  const textOf = (message: string, last?: SourceRequest): string => credentialsErrorFrom(failed(message), last).message;

  test("is explained by its last renewal, if nothing was asked now", () => {
    state.renewal = asked({ status: 503 });
    expect(textOf(OVER)).toBe(`${PREFIX}: their source, https://oidc.example, answered HTTP status 503`);
    expect(sourceRow(failed(OVER), undefined)).toMatchObject({ code: "unavailable" });
    state.renewal = asked({});
    expect(textOf(OVER)).toBe(`${PREFIX}: their source, https://oidc.example, is unreachable`);
    state.renewal = asked({ status: 200 });
    expect(textOf(OVER)).toBe(`${PREFIX}: the answer of their source is unreadable`);
  });

  test("is explained by what was asked now", () => {
    state.renewal = asked({ status: 503 });
    expect(textOf(OVER, asked({ status: 429 }))).toContain("HTTP status 429");
  });

  test("is over without a renewal, and so is another error of its source", () => {
    expect(textOf(OVER)).toBe(PREFIX);
    state.renewal = asked({ status: 503 });
    for (const message of [`x ${OVER}`, "Token is expired", "Token is missing"]) expect(textOf(message)).toBe(PREFIX);
  });
});

describe("a metadata service without an answer", () => {
  const row = (members: Partial<SourceRequest>) => sourceRow(failed(), asked({ source: "metadata", ...members }));

  test("is unreachable only if it is known", () => {
    expect(row({})).toEqual({ code: "access_denied", text: PREFIX });
    expect(row({ status: 200, response: { complete: false } })).toEqual({ code: "access_denied", text: PREFIX });
    state.isMetadataKnown = true;
    const unreachable = `${PREFIX}: their source, https://oidc.example, is unreachable`;
    expect(row({})).toEqual({ code: "unavailable", text: unreachable });
    expect(row({ status: 200, response: { complete: false } })).toEqual({ code: "unavailable", text: unreachable });
    expect(row({ status: 200, response: { complete: true } })).toEqual({ code: "access_denied", text: PREFIX });
  });

  test("is judged by its status, whether it is known or not", () => {
    for (const known of [false, true]) {
      state.isMetadataKnown = known;
      expect(row({ status: 503 })).toMatchObject({ code: "unavailable" });
      expect(row({ status: 404 })).toMatchObject({ code: "access_denied" });
    }
  });
});

test("a source is named by its origin, if that is known", () => {
  expect(nameOfSource(asked({}))).toBe("their source, https://oidc.example,");
  expect([nameOfSource(asked({ origin: undefined })), nameOfSource(undefined)]).toEqual([
    "their source",
    "their source",
  ]);
});
