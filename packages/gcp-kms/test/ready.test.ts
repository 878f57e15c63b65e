import { describe, expect, test } from "vitest";
import type { GcpKmsClientLike } from "@signpost/gcp-kms";
import { credentialsTime, makeReady } from "../src/ready.ts";

const LONGEST_MS = 2_147_483_647;
const { signal } = new AbortController();
const refuse = async (): Promise<never> => Promise.reject(new Error("not of this test"));

/** A client whose stub is one of grpc-js or one for REST. It counts how often a token is asked for. */
function clientOver(transport: "grpc" | "rest"): { client: GcpKmsClientLike; readonly asked: () => number } {
  let asked = 0;
  const client: GcpKmsClientLike = {
    initialize: async () => (transport === "grpc" ? { getChannel: () => undefined } : {}),
    auth: {
      getRequestHeaders: async () => {
        asked += 1;
        return { authorization: "Bearer token" };
      },
    },
    getPublicKey: refuse,
    asymmetricSign: refuse,
    getCryptoKeyVersion: refuse,
    listCryptoKeyVersions: refuse,
    close: refuse,
  };
  return { client, asked: () => asked };
}

describe("the options of a call", () => {
  test.each([
    [2000, 2100],
    [LONGEST_MS - 100, LONGEST_MS],
    [LONGEST_MS, LONGEST_MS],
  ])("over gRPC for %d ms: the client's timeout comes after the interceptor, at %d ms", async (timeoutMs, timeout) => {
    const { optionsOf } = await makeReady(clientOver("grpc").client, "rest");
    const interceptors = [expect.any(Function)];
    expect(optionsOf({ timeoutMs, signal })).toEqual({
      timeout,
      retry: null,
      otherArgs: { options: { interceptors } },
    });
  });

  test.each([
    [2000, 2100],
    [LONGEST_MS - 100, LONGEST_MS],
    [LONGEST_MS, LONGEST_MS],
  ])("over an unknown stub for %d ms: the client gets the signal, and %d ms", async (timeoutMs, timeout) => {
    const { optionsOf } = await makeReady({ ...clientOver("grpc").client, initialize: async () => undefined }, "rest");
    expect(optionsOf({ timeoutMs, signal })).toEqual({ timeout, retry: null, signal });
  });

  test.each([
    [2000, 12_000],
    [LONGEST_MS - 10_000, LONGEST_MS],
    [LONGEST_MS, LONGEST_MS],
  ])("over REST for %d ms: the client's timeout alone ends it, at %d ms", async (timeoutMs, timeout) => {
    const { optionsOf } = await makeReady(clientOver("rest").client, "rest");
    expect(optionsOf({ timeoutMs, signal })).toEqual({ timeout, retry: null });
  });
});

test.each([
  ["grpc", "rest", 0],
  ["grpc", "always", 1],
  ["rest", "rest", 1],
  ["rest", "always", 1],
] as const)("a client over %s that asks %s gets %d tokens, and lasts without one", async (transport, asks, tokens) => {
  const { client, asked } = clientOver(transport);
  const initialized = client.initialize();
  const { lasting } = await makeReady(client, asks, initialized);
  expect(asked()).toBe(tokens);
  expect(lasting).toBe(tokens === 0 ? initialized : undefined);
});

test.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [1000, 900],
  [1009, 908],
])("of a call of %d ms, credentials may take %d ms", (timeoutMs, expected) => {
  expect(credentialsTime({ timeoutMs, signal })).toBe(expected);
});

test.each<[what: string, stub: object, connected: boolean]>([
  ["idle", { getChannel: () => ({ getConnectivityState: () => 0 }) }, false],
  ["connecting", { getChannel: () => ({ getConnectivityState: () => 1 }) }, false],
  ["ready", { getChannel: () => ({ getConnectivityState: () => 2 }) }, true],
  // Asked to connect, it would say so.
  [
    "idle, and is not made to connect",
    { getChannel: () => ({ getConnectivityState: (tries: boolean) => (tries ? 2 : 0) }) },
    false,
  ],
  ["of a kind that has no states", { getChannel: () => ({}) }, true],
  ["one for REST", {}, true],
])("a client has a connection, or none, if its channel is %s", async (_what, stub, connected) => {
  const client = { ...clientOver("grpc").client, initialize: async () => stub };
  const { isConnected } = await makeReady(client, "rest");
  expect(isConnected()).toBe(connected);
});
