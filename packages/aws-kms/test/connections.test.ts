import { beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError, SignerError } from "@signpost/core";
import { closedError, planOpening, readEndpoint } from "@signpost/core/adapter";
import type { AwsKmsApi } from "../src/api.ts";
import { connect, readConnectionOptions } from "../src/client.ts";
import { rememberSettings } from "../src/own-apis.ts";
import type { Settings } from "../src/settings.ts";

/** What was opened, and with what. */
const state = vi.hoisted(() => ({
  calls: [] as unknown[],
  settings: async (): Promise<unknown> => ({}),
  https: async (): Promise<unknown> => ({}),
}));
vi.mock("../src/own-client.ts", async (load) => ({
  ...(await load<typeof import("../src/own-client.ts")>()),
  openOwnClient: (_sdk: unknown, ...given: unknown[]) => {
    state.calls.push(["sdk", ...given]);
    return { api: "the api", close: "its close" };
  },
}));
vi.mock("../src/https/open.ts", async (load) => ({
  ...(await load<typeof import("../src/https/open.ts")>()),
  openHttps: (given: unknown) => {
    state.calls.push(["https", given]);
    return state.https();
  },
}));
vi.mock("../src/settings.ts", async (load) => ({
  ...(await load<typeof import("../src/settings.ts")>()),
  readSettings: () => state.settings(),
}));

const SETTINGS: Settings = {
  region: "eu-west-1",
  endpoint: { ...readEndpoint("endpoint", "https://kms.internal"), inUri: true },
  useFipsEndpoint: false,
  useDualstackEndpoint: false,
  allowInsecureEndpoint: false,
  notes: ["a note"],
};
const FOUND = { region: "eu-west-1", endpoint: SETTINGS.endpoint, notes: ["a note"] };
const GIVEN = { region: undefined, endpoint: undefined, allowInsecureEndpoint: false };
const never = (): Promise<never> => new Promise<never>(() => undefined);

beforeEach(() => {
  state.calls.length = 0;
  state.settings = async () => SETTINGS;
  state.https = async () => ({ settings: SETTINGS, api: "the api", close: "its close" });
});

describe("a connection that the adapter makes", () => {
  test("goes through the SDK by default, with what that finds", async () => {
    const plan = planOpening({});
    const made = { ...FOUND, api: "the api", close: "its close" };
    expect(await connect({}, GIVEN, plan)).toEqual(made);
    expect(await connect({ transport: "sdk" }, GIVEN, plan)).toEqual(made);
    expect(state.calls).toEqual([
      ["sdk", SETTINGS, plan],
      ["sdk", SETTINGS, plan],
    ]);
  });

  test.each([
    [
      { concurrency: 60, attemptTimeoutMs: 7 },
      { maxSockets: 60, timeoutMs: 7 },
    ],
    [false as const, { maxSockets: Number.POSITIVE_INFINITY, timeoutMs: 5000 }],
  ])("goes over https on request, with the sockets and the time of the policy %j", async (policy, limits) => {
    const made = await connect({ transport: "https" }, GIVEN, planOpening({ policy }));
    expect(made).toEqual({ ...FOUND, api: "the api", close: "its close" });
    expect(state.calls).toEqual([["https", { settings: GIVEN, ...limits }]]);
  });

  test("names no endpoint that no key URI can name", async () => {
    const endpoint = { ...readEndpoint("endpoint", "https://kms.internal"), inUri: false };
    for (const found of [endpoint, undefined]) {
      state.settings = async () => ({ ...SETTINGS, endpoint: found });
      expect(await connect({}, GIVEN, planOpening({}))).toMatchObject({ endpoint: undefined, region: "eu-west-1" });
    }
  });

  test("is waited for until the deadline", async () => {
    [state.settings, state.https] = [never, never];
    for (const transport of ["sdk", "https"] as const) {
      const opening = connect({ transport }, GIVEN, planOpening({ openDeadlineMs: 20 }));
      await expect(opening).rejects.toMatchObject({ code: "timeout" });
    }
  });
});

describe("a transport of the caller", () => {
  const newApi = (): AwsKmsApi => ({ getPublicKey: async () => ({}), sign: async () => ({}) });
  const plan = planOpening({ openDeadlineMs: 20 });
  const bare = { region: undefined, endpoint: undefined, notes: [] };

  test("is used as it is, left open, and known only if it is of this package", async () => {
    const api = newApi();
    const { close, ...known } = await connect({ api }, GIVEN, plan);
    expect(known).toEqual({ ...bare, api });
    expect(known.api).toBe(api);
    expect(await close()).toBeUndefined();
    const own = newApi();
    rememberSettings(own, async () => SETTINGS);
    expect(await connect({ api: own }, GIVEN, plan)).toMatchObject({ ...FOUND, api: own });
    expect(state.calls).toEqual([]);
  });

  test.each<[what: string, find: () => Promise<never>, code: string | undefined]>([
    ["cannot be read", () => Promise.reject(new ConfigurationError("region", "expected a Region")), undefined],
    ["are those of one that was closed", () => Promise.reject(closedError()), undefined],
    ["do not arrive", never, "timeout"],
    ["are refused by a signer's error", () => Promise.reject(new SignerError("aborted", "gone")), "aborted"],
  ])("whose settings %s opens without them, or says so", async (_what, find, code) => {
    const api = newApi();
    rememberSettings(api, find);
    const opening = connect({ api }, GIVEN, plan);
    if (code === undefined) expect(await opening).toMatchObject({ ...bare, api });
    else await expect(opening).rejects.toMatchObject({ code });
  });
});

describe("the Region of the caller's client", () => {
  const regionOf = async (config: object | undefined, region?: string): Promise<unknown> => {
    const client = { send: async () => ({}), ...(config !== undefined && { config }) };
    const made = await connect({ client }, { ...GIVEN, region }, planOpening({ openDeadlineMs: 20 }));
    expect(made).toMatchObject({ endpoint: undefined, notes: [] });
    expect(await made.close()).toBeUndefined();
    return made.region;
  };

  test("is what its configuration says", async () => {
    expect(await regionOf({ region: async () => "eu-west-2" })).toBe("eu-west-2");
    expect(await regionOf({ region: "eu-west-3" })).toBe("eu-west-3");
    expect(await regionOf({ region: 7 })).toBeUndefined();
    expect(await regionOf({})).toBeUndefined();
    expect(await regionOf(undefined)).toBeUndefined();
    expect(state.calls).toEqual([]);
  });

  test.each([
    [undefined, "client: expected a KMSClient with a Region, such as eu-west-1"],
    ["eu-west-9", "client: expected a KMSClient with a Region, which is eu-west-9 for this key"],
  ])("that is missing is asked for, for a key in %s", async (region, message) => {
    const missing = new Error("Region is missing");
    const opening = regionOf({ region: () => Promise.reject(missing) }, region);
    await expect(opening).rejects.toMatchObject({
      argument: "client",
      message,
      cause: { message: "Region is missing" },
    });
  });

  test("is waited for until the deadline", async () => {
    await expect(regionOf({ region: never })).rejects.toMatchObject({ code: "timeout" });
  });
});

describe("the options of a connection", () => {
  const client = { send: async () => ({}) };
  const api = { getPublicKey: async () => ({}), sign: async () => ({}) };

  test("are its endpoint and what that may be", () => {
    expect(readConnectionOptions({})).toEqual({ endpoint: undefined, allowInsecureEndpoint: false });
    expect(readConnectionOptions({ endpoint: "http://kms.internal", allowInsecureEndpoint: true })).toMatchObject({
      endpoint: { url: "http://kms.internal", plaintext: true },
      allowInsecureEndpoint: true,
    });
    for (const options of [{ client }, { api }, { transport: "sdk" as const }, { transport: "https" as const }]) {
      expect(readConnectionOptions(options)).toEqual({ endpoint: undefined, allowInsecureEndpoint: false });
    }
  });

  test.each<[options: object, message: string]>([
    [{ client, api }, "api: expected api or client, not both"],
    [{ client: null }, "client: expected a KMSClient"],
    [{ client: { send: 7 } }, "client: expected a KMSClient"],
    [{ api: null }, "api: expected an object with the functions"],
    [{ api: { getPublicKey: api.getPublicKey } }, "api: expected an object with the functions"],
    [{ api: { sign: api.sign } }, "api: expected an object with the functions"],
    ...[
      { transport: "sdk" },
      { region: "eu-west-1" },
      { endpoint: "https://kms.internal" },
      { allowInsecureEndpoint: false },
    ].flatMap((option): [object, string][] => {
      const refusal = (of: string): string => `${Object.keys(option)[0]}: not allowed together with ${of}`;
      return [
        [{ client, ...option }, refusal("client")],
        [{ api, ...option }, refusal("api")],
      ];
    }),
    [{ transport: "http" }, "transport: expected"],
    [{ region: "Ireland" }, "region: expected"],
    [{ endpoint: "http://kms.internal" }, "endpoint: expected"],
    [{ endpoint: "http://kms.internal", allowInsecureEndpoint: false }, "endpoint: expected"],
    [{ allowInsecureEndpoint: "yes" }, "allowInsecureEndpoint: expected"],
  ])("refuse %j", (options, message) => {
    expect(() => readConnectionOptions(options)).toThrow(ConfigurationError);
    expect(() => readConnectionOptions(options)).toThrow(message);
  });
});
