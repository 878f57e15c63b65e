import { describe, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { parseEndpoint } from "../src/endpoint.ts";

describe("an endpoint", () => {
  test.each([
    ["http://127.0.0.1:9010", { host: "127.0.0.1", port: 9010, plaintext: true }],
    ["http://127.7.7.7:9010", { host: "127.7.7.7", port: 9010, plaintext: true }],
    ["http://localhost:9010/", { host: "localhost", port: 9010, plaintext: true }],
    ["http://[::1]:9010", { host: "[::1]", port: 9010, plaintext: true }],
    ["http://127.0.0.1", { host: "127.0.0.1", port: 80, plaintext: true }],
    ["https://kms.internal", { host: "kms.internal", port: 443, plaintext: false }],
    ["https://kms.internal:8443", { host: "kms.internal", port: 8443, plaintext: false }],
    ["https://127.0.0.1:8443", { host: "127.0.0.1", port: 8443, plaintext: false }],
  ])("%s", (endpoint, parsed) => expect(parseEndpoint(endpoint)).toEqual(parsed));

  test.each([
    ["in the clear beyond loopback", "http://kms.internal:80"],
    ["in the clear to a name that begins like loopback", "http://127.0.0.1.example.org:80"],
    ["in the clear to any address", "http://0.0.0.0:9010"],
    ["without a scheme", "127.0.0.1:9010"],
    ["of another scheme", "grpc://127.0.0.1:9010"],
    ["with a path", "https://kms.internal/v1"],
    ["with a query", "https://kms.internal?x"],
    ["with a fragment", "https://kms.internal#x"],
    ["with a user", "https://user@kms.internal"],
    ["empty", ""],
  ])("is refused %s", (_how, endpoint) => {
    expect(() => parseEndpoint(endpoint)).toThrow(ConfigurationError);
    expect(() => parseEndpoint(endpoint)).toThrow(/^endpoint: expected https:\/\/HOST/);
  });
});
