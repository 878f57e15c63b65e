import { describe, expect, test } from "vitest";
import { readEndpoint } from "@signpost/core/adapter";
import { thrownBy } from "../support/key-fixtures.ts";

describe("readEndpoint", () => {
  test.each([
    ["https://kms.example.com", ["https://kms.example.com", "kms.example.com", "kms.example.com", 443, false]],
    [
      "https://kms.example.com:8443/",
      ["https://kms.example.com:8443", "kms.example.com:8443", "kms.example.com", 8443, false],
    ],
    ["http://localhost", ["http://localhost", "localhost", "localhost", 80, true]],
    ["http://127.0.0.1:4566", ["http://127.0.0.1:4566", "127.0.0.1:4566", "127.0.0.1", 4566, true]],
    ["http://[::1]:4566", ["http://[::1]:4566", "[::1]:4566", "[::1]", 4566, true]],
    ["https://localhost", ["https://localhost", "localhost", "localhost", 443, false]],
  ] as const)("reads %s", (text, [url, host, hostname, port, plaintext]) => {
    expect(readEndpoint("endpoint", text)).toEqual({ url, host, hostname, port, plaintext });
  });

  test.each([
    "http://kms.example.com",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://2130706433.example",
    "ftp://127.0.0.1",
    "https://kms.example.com/path",
    "https://kms.example.com?a",
    "https://kms.example.com#a",
    "https://user@kms.example.com",
    "https://user:s3cret@kms.example.com",
    "kms.example.com",
    "https://",
    "",
    undefined,
    null,
    4566,
    {},
  ])("refuses %j, and does not repeat it", (value) => {
    expect(thrownBy(() => readEndpoint("endpoint", value))).toMatchObject({
      name: "ConfigurationError",
      argument: "endpoint",
      message: expect.not.stringContaining("s3cret"),
    });
  });

  test.each([
    ["ftp://127.0.0.1", "a URL of another kind"],
    ["kms.example.com", "a string"],
    [undefined, "undefined"],
    [4566, "4566"],
    [{}, "an object"],
    ["http://kms.example.com", "http://kms.example.com"],
    ["https://kms.example.com/path", "without path, query or user"],
  ])("says what it got instead: %j", (value, said) => {
    expect(thrownBy(() => readEndpoint("endpoint", value))).toMatchObject({
      message: expect.stringContaining(said),
    });
  });

  test("says which option would accept plain HTTP, where nothing else is wrong", () => {
    const rules = { insecureOption: "allowInsecureEndpoint" };
    const said = (url: string): unknown => thrownBy(() => readEndpoint("endpoint", url, rules));
    expect(said("http://kms.example.com")).toMatchObject({
      message: expect.stringMatching(/, or allowInsecureEndpoint: true, got http:\/\/kms\.example\.com$/),
    });
    expect(said("http://127.0.0.1/kms")).toMatchObject({ message: expect.not.stringContaining("allowInsecure") });
  });

  test("accepts plain HTTP to another host only by the rule that allows it", () => {
    const text = "http://localstack:4566";
    expect(readEndpoint("endpoint", text, { allowInsecure: true })).toEqual({
      url: text,
      host: "localstack:4566",
      hostname: "localstack",
      port: 4566,
      plaintext: true,
    });
    for (const rules of [undefined, {}, { allowInsecure: false }]) {
      expect(thrownBy(() => readEndpoint("endpoint", text, rules))).toMatchObject({ argument: "endpoint" });
    }
  });
});
