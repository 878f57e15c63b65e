import { beforeEach, expect, test, vi } from "vitest";
import { readEndpoint } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "../src/api.ts";
import { createOwnClients } from "../src/client.ts";

const sdk = vi.hoisted(() => ({ made: [] as object[], reset: vi.fn<() => void>(), named: vi.fn<() => void>() }));
vi.mock("../src/sdk.ts", () => ({
  loadClientClass: async () =>
    class {
      readonly auth = { fetch: () => "answer" };
      constructor(options: object) {
        sdk.made.push(options);
      }
    },
  gaxOf: () => ({ googleAuthLibrary: { PassThroughClient: Date, gcpMetadata: { resetIsAvailableCache: sdk.reset } } }),
  requireClassNames: sdk.named,
}));
beforeEach(() => {
  sdk.made.length = 0;
  sdk.reset.mockReset();
  sdk.named.mockReset();
});

const KEEPALIVE = { "grpc.keepalive_time_ms": 10_000, "grpc.keepalive_timeout_ms": 1000 };

test("clients over gRPC have the project of the key, and no connections of REST", async () => {
  const clients = await createOwnClients({ endpoint: undefined, transport: "grpc" }, "a-project");
  expect(clients.sockets).toBeUndefined();
  const client = clients.create();
  const { fetch } = client.auth as unknown as { fetch: unknown };
  clients.create(client.auth);
  const options = {
    projectId: "a-project",
    "grpc.max_reconnect_backoff_ms": 2000,
    "grpc.use_local_subchannel_pool": 1,
    ...KEEPALIVE,
  };
  expect(sdk.made).toEqual([options, { ...options, auth: client.auth }]);
  expect(Reflect.get(client.auth ?? {}, "fetch")).toBe(fetch);
  expect(sdk.named).not.toHaveBeenCalled();
});

test("clients over REST share the connections of their signer", async () => {
  const clients = await createOwnClients({ endpoint: undefined, transport: "rest" }, undefined);
  const client = clients.create();
  expect(sdk.made).toEqual([{ fallback: true }]);
  expect(clients.sockets?.idleMs).toBe(20_000);
  // It goes through the connections of the signer.
  expect(Object.hasOwn(client.auth ?? {}, "fetch")).toBe(true);
  expect(Reflect.get(client.auth ?? {}, "fetch")).toHaveLength(2);
  expect(sdk.named).toHaveBeenCalledOnce();
});

test("an absent metadata server is forgotten, and one that answered is not", async () => {
  const { forgetAbsence } = await createOwnClients({ endpoint: undefined, transport: "grpc" }, undefined);
  const withAuth = (auth: object): GcpKmsClientLike => ({ auth }) as unknown as GcpKmsClientLike;
  forgetAbsence(withAuth({ isGCE: true }));
  expect(sdk.reset).not.toHaveBeenCalled();
  for (const auth of [{ isGCE: false }, {}, { isGCE: "true" }]) forgetAbsence(withAuth(auth));
  expect(sdk.reset).toHaveBeenCalledTimes(3);
});

test("clients over gRPC ping as often as they are told", async () => {
  const own = { endpoint: undefined, transport: "grpc" } as const;
  (await createOwnClients(own, undefined, { timeMs: 5, timeoutMs: 6 })).create();
  expect(sdk.made).toMatchObject([{ "grpc.keepalive_time_ms": 5, "grpc.keepalive_timeout_ms": 6 }]);
  expect(Object.keys(sdk.made[0] ?? {})).not.toContain("projectId");
});

test("clients wait for the file with credentials, unless they need none", async () => {
  const waitOf = async (url?: string): Promise<unknown> => {
    const endpoint = url === undefined ? undefined : readEndpoint("endpoint", url);
    return (await createOwnClients({ endpoint, transport: "rest" }, undefined)).untilFileAnswers;
  };
  expect(await waitOf()).toBeTypeOf("function");
  expect(await waitOf("https://kms.internal")).toBeTypeOf("function");
  expect(await waitOf("http://127.0.0.1:9010")).toBeUndefined();
});
