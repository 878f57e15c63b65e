import { describe, expect, test } from "vitest";
import { gaxOf, loadClientClass, loadingFailure, requireClassNames, type ClientClass } from "../src/sdk.ts";

describe("an SDK that does not load", () => {
  const failed = (words: string): string => `expected @google-cloud/kms to load, but it failed with "${words}"`;
  const inside =
    ": it is CommonJS and cannot run inside this bundle of ES modules; make it external, or bundle as CommonJS";
  test.each([
    [
      "Cannot find package '@google-cloud/kms' imported from /app",
      "expected a client, or @google-cloud/kms to be installed",
    ],
    [
      "Cannot find module '@google-cloud/kms'\nRequire stack:",
      "expected a client, or @google-cloud/kms to be installed",
    ],
    ["x: Cannot find module '@google-cloud/kms'", failed("x: Cannot find module '@google-cloud/kms'")],
    ["Cannot find module '@google-cloud/kms-x'", failed("Cannot find module '@google-cloud/kms-x'")],
    ["no\nCannot find module '@google-cloud/kms'", failed("no")],
    ['Dynamic require of "util" is not supported', `${failed('Dynamic require of "util" is not supported')}${inside}`],
    ["x Dynamic require of", failed("x Dynamic require of")],
    ["require is not defined in ES module scope", `${failed("require is not defined in ES module scope")}${inside}`],
    ["module is not defined", `${failed("module is not defined")}${inside}`],
    ["exports is not defined", `${failed("exports is not defined")}${inside}`],
    ["__dirname is not defined", `${failed("__dirname is not defined")}${inside}`],
    ["__filename is not defined", `${failed("__filename is not defined")}${inside}`],
    ["my require is not defined", failed("my require is not defined")],
    ["window is not defined", failed("window is not defined")],
  ])("says of %j what to do", (message, expected) => {
    expect(loadingFailure(new Error(message))).toBe(expected);
  });

  test("without a message says so too", () => {
    expect(loadingFailure(undefined)).toBe(failed(""));
  });
});

test("the installed SDK loads, with its own google-gax and the names of its classes", async () => {
  const Client = await loadClientClass();
  expect(Client.name).toBe("KeyManagementServiceClient");
  expect(gaxOf(Client).grpc.credentials.createInsecure()).toBeTruthy();
  expect(() => requireClassNames(Client)).not.toThrow();
});

/** A made-up class, with its google-gax and what it was made with. */
function classWith(gax: unknown): { Client: ClientClass; given: readonly object[] } {
  const given: object[] = [];
  class Client {
    _gaxModule = gax;
    constructor(options: object) {
      given.push(options);
    }
  }
  return { Client: Client as unknown as ClientClass, given };
}

describe("the google-gax of a client", () => {
  const usable = {
    grpc: { credentials: { createInsecure: () => "insecure" } },
    googleAuthLibrary: { PassThroughClient: Date, gcpMetadata: { resetIsAvailableCache: () => undefined } },
  };

  test("is read from one that needs no credentials", () => {
    const { Client, given } = classWith(usable);
    expect(gaxOf(Client)).toBe(usable);
    expect(given).toEqual([{ universeDomain: "googleapis.com", authClient: { universeDomain: "googleapis.com" } }]);
  });

  test.each<[missing: string, gax: unknown]>([
    ["everything", undefined],
    ["insecure credentials", { ...usable, grpc: { credentials: {} } }],
    ["grpc", { ...usable, grpc: undefined }],
    [
      "a client without credentials",
      { ...usable, googleAuthLibrary: { ...usable.googleAuthLibrary, PassThroughClient: 7 } },
    ],
    [
      "the cache of the metadata server",
      { ...usable, googleAuthLibrary: { ...usable.googleAuthLibrary, gcpMetadata: {} } },
    ],
  ])("is refused without %s", (_missing, gax) => {
    expect(() => gaxOf(classWith(gax).Client)).toThrow(/^client: expected @google-cloud\/kms 5\.7 or 6/);
  });
});

describe("the names of the SDK's classes", () => {
  const withNumbers = (Long: unknown): ReturnType<typeof classWith> => classWith({ protobuf: { util: { Long } } });

  test("are asked for over REST, and are needed", () => {
    const named = withNumbers({ Long: () => undefined }.Long);
    expect(() => requireClassNames(named.Client)).not.toThrow();
    expect(named.given).toMatchObject([{ fallback: true, universeDomain: "googleapis.com" }]);
    expect(() => requireClassNames(withNumbers({ a: () => undefined }.a).Client)).toThrow(
      /^transport: expected "grpc" in this bundle/,
    );
  });

  test("cannot be missed where there is no such class", () => {
    for (const { Client } of [withNumbers(undefined), withNumbers("a"), classWith(undefined)]) {
      expect(() => requireClassNames(Client)).not.toThrow();
    }
  });
});
