import { describe, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { KeyManagementServiceClient } from "@google-cloud/kms";
import { ownClientOptions, readConnectionOptions } from "../src/client.ts";
import { gaxOf } from "../src/sdk.ts";

/** What a client of our own would be made with for the endpoint. */
function clientOptionsOf(endpoint: string, transport: "grpc" | "rest"): object {
  return ownClientOptions(readConnectionOptions({ endpoint, transport }), () =>
    gaxOf(KeyManagementServiceClient as never),
  );
}

describe("an endpoint", () => {
  test.each([
    ["http://127.0.0.1:9010", { apiEndpoint: "127.0.0.1", port: 9010 }, true],
    ["http://127.7.7.7:9010", { apiEndpoint: "127.7.7.7", port: 9010 }, true],
    ["http://localhost:9010/", { apiEndpoint: "localhost", port: 9010 }, true],
    ["http://[::1]:9010", { apiEndpoint: "[::1]", port: 9010 }, true],
    ["http://127.0.0.1", { apiEndpoint: "127.0.0.1", port: 80 }, true],
    ["https://kms.internal", { apiEndpoint: "kms.internal", port: 443 }, false],
    ["https://kms.internal:8443", { apiEndpoint: "kms.internal", port: 8443 }, false],
    ["https://127.0.0.1:8443", { apiEndpoint: "127.0.0.1", port: 8443 }, false],
  ])("%s", (endpoint, expected, plaintext) => {
    const grpc = clientOptionsOf(endpoint, "grpc");
    expect(grpc).toMatchObject(expected);
    expect("sslCreds" in grpc).toBe(plaintext);
    const rest = clientOptionsOf(endpoint, "rest");
    expect(rest).toMatchObject({ ...expected, fallback: true });
    expect("protocol" in rest).toBe(plaintext);
    // Credentials are not looked for where they would travel in the clear.
    expect(["authClient" in grpc, "authClient" in rest]).toEqual([plaintext, plaintext]);
  });

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
    expect(() => readConnectionOptions({ endpoint })).toThrow(ConfigurationError);
    expect(() => readConnectionOptions({ endpoint })).toThrow(/^endpoint: expected https:\/\/HOST/);
  });
});
