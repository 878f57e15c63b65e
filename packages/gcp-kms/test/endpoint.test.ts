import { afterEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { KeyManagementServiceClient } from "@google-cloud/kms";
import { environmentNotes, ownClientOptions, readConnectionOptions } from "../src/client.ts";
import { gaxOf } from "../src/sdk.ts";

afterEach(() => void vi.unstubAllEnvs());

/** What a client of our own would be made with for the endpoint. */
function clientOptionsOf(endpoint: string, transport: "grpc" | "rest"): object {
  return ownClientOptions(readConnectionOptions({ endpoint, transport }), () =>
    gaxOf(KeyManagementServiceClient as never),
  );
}

/** How a channel finds out that its connection is lost, and how soon it connects again. */
const GRPC = {
  "grpc.max_reconnect_backoff_ms": 2000,
  "grpc.use_local_subchannel_pool": 1,
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 1000,
};

describe("a client of the adapter is made", () => {
  const gax = (): never => {
    throw new Error("not needed");
  };

  test("for the public service with nothing but its transport", () => {
    expect(ownClientOptions({ endpoint: undefined, transport: "grpc" }, gax)).toEqual(GRPC);
    expect(ownClientOptions({ endpoint: undefined, transport: "rest" }, gax)).toEqual({ fallback: true });
    const keepalive = { timeMs: 5, timeoutMs: 6 };
    expect(ownClientOptions({ endpoint: undefined, transport: "grpc" }, gax, keepalive)).toEqual({
      ...GRPC,
      "grpc.keepalive_time_ms": 5,
      "grpc.keepalive_timeout_ms": 6,
    });
  });

  test("for an emulator without credentials, universe or proxy", () => {
    const place = { apiEndpoint: "127.0.0.1", port: 9010, universeDomain: "googleapis.com" };
    const authClient: unknown = expect.anything();
    expect(clientOptionsOf("http://127.0.0.1:9010", "rest")).toEqual({
      ...place,
      authClient,
      fallback: true,
      protocol: "http",
    });
    expect(clientOptionsOf("http://127.0.0.1:9010", "grpc")).toEqual({
      ...place,
      ...GRPC,
      authClient,
      sslCreds: expect.anything(),
      "grpc.enable_http_proxy": 0,
    });
  });

  test("for an endpoint over TLS with its host and port alone", () => {
    const place = { apiEndpoint: "kms.internal", port: 443 };
    expect(clientOptionsOf("https://kms.internal", "rest")).toEqual({ ...place, fallback: true });
    expect(clientOptionsOf("https://kms.internal", "grpc")).toEqual({ ...place, ...GRPC });
  });
});

describe("the connection options", () => {
  const client = { initialize: () => undefined, asymmetricSign: () => undefined } as never;

  test("choose gRPC unless they say REST, and keep the client apart from both", () => {
    expect(readConnectionOptions({})).toEqual({ transport: "grpc", endpoint: undefined });
    expect(readConnectionOptions({ transport: "rest" })).toEqual({ transport: "rest", endpoint: undefined });
    expect(readConnectionOptions({ client })).toEqual({ transport: "grpc", endpoint: undefined });
  });

  test.each([
    [{ client, transport: "grpc" as const }],
    [{ client, endpoint: "https://kms.internal" }],
    [{ client: null as never }],
    [{ client: { initialize: () => undefined } as never }],
    [{ client: { asymmetricSign: () => undefined } as never }],
    [{ client: 7 as never }],
  ])("refuse %j by the client", (options) => {
    expect(() => readConnectionOptions(options)).toThrow(/^client: /);
  });

  test("tell of a variable that chooses the service, unless the caller has chosen it", () => {
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "a.example");
    expect(environmentNotes({})).toEqual(["endpoint https://cloudkms.a.example, from GOOGLE_CLOUD_UNIVERSE_DOMAIN"]);
    expect([environmentNotes({ client }), environmentNotes({ endpoint: "https://kms.internal" })]).toEqual([[], []]);
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "");
    expect(environmentNotes({})).toEqual([]);
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", undefined);
    expect(environmentNotes({})).toEqual([]);
  });

  test.each<[variables: Record<string, string>, host: string | undefined, from?: string]>([
    [{ MTLS_ENDPOINT: "always" }, "cloudkms.mtls.googleapis.com", "GOOGLE_API_USE_MTLS_ENDPOINT"],
    [{ MTLS_ENDPOINT: "auto" }, undefined],
    [{ CLIENT_CERTIFICATE: "true" }, "cloudkms.mtls.googleapis.com", "GOOGLE_API_USE_CLIENT_CERTIFICATE"],
    [{ CLIENT_CERTIFICATE: "false" }, undefined],
    [{ CLIENT_CERTIFICATE: "true", MTLS_ENDPOINT: "never" }, undefined],
  ])("tell of the endpoint for client certificates, over gRPC alone: %j", (variables, host, from) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(`GOOGLE_API_USE_${name}`, value);
    const notes = host === undefined ? [] : [`endpoint https://${host}, from ${from}`];
    expect([environmentNotes({}), environmentNotes({ transport: "grpc" })]).toEqual([notes, notes]);
    for (const options of [{ transport: "rest" }, { client }, { endpoint: "https://kms.internal" }] as const) {
      expect(environmentNotes(options)).toEqual([]);
    }
  });

  test("tell of both variables where both count", () => {
    vi.stubEnv("GOOGLE_API_USE_MTLS_ENDPOINT", "always");
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "googleapis.com");
    const both = "GOOGLE_CLOUD_UNIVERSE_DOMAIN and GOOGLE_API_USE_MTLS_ENDPOINT";
    expect(environmentNotes({})).toEqual([`endpoint https://cloudkms.mtls.googleapis.com, from ${both}`]);
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "a.example");
    expect(environmentNotes({})).toEqual(["endpoint https://cloudkms.a.example, from GOOGLE_CLOUD_UNIVERSE_DOMAIN"]);
  });
});

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
