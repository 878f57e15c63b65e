import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readEndpoint } from "@signpost/core/adapter";
import { createOwnClients, type OwnClientOptions } from "../src/client.ts";

const state = vi.hoisted(() => ({ made: [] as object[], resets: 0, checked: [] as unknown[] }));
class Client {
  readonly auth: object;
  constructor(options: { readonly auth?: object }) {
    state.made.push(options);
    this.auth = options.auth ?? { fetch: () => undefined };
  }
}
vi.mock("../src/sdk.ts", async (load) => ({
  ...(await load<typeof import("../src/sdk.ts")>()),
  loadClientClass: async () => Client,
  requireClassNames: (given: unknown) => state.checked.push(given),
  gaxOf: () => ({
    grpc: { credentials: { createInsecure: () => "insecure" } },
    googleAuthLibrary: {
      PassThroughClient: Date,
      gcpMetadata: { resetIsAvailableCache: () => void (state.resets += 1) },
    },
  }),
}));

beforeEach(() => {
  state.made.length = 0;
  state.checked.length = 0;
  state.resets = 0;
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "/run/key.json");
});
afterEach(() => void vi.unstubAllEnvs());

const optionsFor = (transport: "grpc" | "rest", endpoint?: string): OwnClientOptions => ({
  transport,
  endpoint: endpoint === undefined ? undefined : readEndpoint("endpoint", endpoint),
});

describe("clients of the adapter", () => {
  test("are made for the project of the key, with the credentials of another client or their own", async () => {
    const { create } = await createOwnClients(optionsFor("rest"), "p");
    const auth = { getRequestHeaders: async () => ({}) };
    create();
    create(auth);
    expect(state.made).toEqual([
      { fallback: true, projectId: "p" },
      { fallback: true, projectId: "p", auth },
    ]);
    expect(Object.keys(state.made[0] ?? {})).not.toContain("auth");
  });

  test("of a key without a project are made without one", async () => {
    const { create } = await createOwnClients(optionsFor("rest"), undefined);
    create();
    expect(state.made).toEqual([{ fallback: true }]);
    expect(Object.keys(state.made[0] ?? {})).not.toContain("projectId");
  });

  test("over gRPC have the times of their pings", async () => {
    const { create } = await createOwnClients(optionsFor("grpc"), "p", { timeMs: 5, timeoutMs: 6 });
    create();
    expect(state.made).toMatchObject([{ "grpc.keepalive_time_ms": 5, "grpc.keepalive_timeout_ms": 6 }]);
    await createOwnClients(optionsFor("grpc"), "p").then((clients) => clients.create());
    expect(state.made[1]).toMatchObject({ "grpc.keepalive_time_ms": 10_000, "grpc.keepalive_timeout_ms": 1000 });
  });

  test("over REST alone have connections, and need the names of classes", async () => {
    const rest = await createOwnClients(optionsFor("rest"), "p");
    expect(state.checked).toEqual([Client]);
    const client = rest.create();
    const agent: unknown = rest.sockets?.agent;
    expect(agent).toBeTypeOf("function");
    const fetch = vi.fn<(...given: unknown[]) => void>();
    const other = { fetch, getRequestHeaders: async () => ({}) };
    rest.create(other);
    Reflect.apply(other.fetch, other, ["https://a", {}]);
    expect(fetch.mock.calls).toEqual([["https://a", { agent, redirect: "manual" }]]);
    expect(client.auth).toBeDefined();

    const grpc = await createOwnClients(optionsFor("grpc"), "p");
    const untouched = { fetch, getRequestHeaders: async () => ({}) };
    grpc.create(untouched);
    expect([grpc.sockets, untouched.fetch]).toEqual([undefined, fetch]);
    expect(state.checked).toHaveLength(1);
  });

  test("wait for the file with credentials, unless they need none", async () => {
    const waitOf = async (endpoint?: string): Promise<unknown> =>
      (await createOwnClients(optionsFor("grpc", endpoint), "p")).untilFileAnswers;
    expect(await waitOf()).toBeTypeOf("function");
    expect(await waitOf("https://kms.internal")).toBeTypeOf("function");
    expect(await waitOf("http://127.0.0.1:9010")).toBeUndefined();
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "");
    expect(await waitOf()).toBeUndefined();
  });

  test.each([
    [{ isGCE: true }, 0],
    [{ isGCE: false }, 1],
    [{}, 1],
    [undefined, 1],
  ])("with auth %j forget that there is no metadata server: %i", async (auth, resets) => {
    const { forgetAbsence } = await createOwnClients(optionsFor("grpc"), "p");
    forgetAbsence({ auth } as never);
    expect(state.resets).toBe(resets);
  });
});
