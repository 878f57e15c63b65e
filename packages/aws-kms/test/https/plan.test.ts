import { Agent } from "node:https";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { kmsOverHttps, type KmsOverHttpsOptions } from "@signpost/aws-kms/https";
import type { HttpsConnection, HttpsPlan } from "../../src/https/open.ts";
import { settingsOf } from "../../src/own-apis.ts";
import { NO_REGION } from "../../src/settings.ts";

const state = vi.hoisted(() => ({ open: async (_plan: unknown): Promise<unknown> => ({}), plans: [] as unknown[] }));
vi.mock("../../src/https/open.ts", async (load) => ({
  ...(await load<typeof import("../../src/https/open.ts")>()),
  openHttps: (plan: unknown) => {
    state.plans.push(plan);
    return state.open(plan);
  },
}));

const key = { KeyId: "k" };
const digest = {
  ...key,
  Message: new Uint8Array(32),
  MessageType: "DIGEST",
  SigningAlgorithm: "ECDSA_SHA_256",
} as const;
const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

/** A connection whose calls return what they were given. */
function connection(): {
  readonly opened: HttpsConnection;
  readonly close: ReturnType<typeof vi.fn<() => Promise<void>>>;
} {
  const close = vi.fn<() => Promise<void>>(async () => undefined);
  const echo = async (...given: unknown[]): Promise<object> => ({ given });
  const opened = {
    api: { getPublicKey: echo, sign: echo },
    settings: { region: "r" },
    close,
  } as unknown as HttpsConnection;
  return { opened, close };
}

beforeEach(() => {
  state.plans.length = 0;
  state.open = async () => connection().opened;
});

async function planOf(options: KmsOverHttpsOptions): Promise<HttpsPlan> {
  await kmsOverHttps(options).getPublicKey(key, {});
  return state.plans.at(-1) as HttpsPlan;
}

describe("kmsOverHttps opens its connection", () => {
  test("without options with the defaults", async () => {
    expect(await planOf({})).toEqual({
      settings: { region: undefined, endpoint: undefined, allowInsecureEndpoint: false },
      credentials: undefined,
      agent: undefined,
      maxSockets: 256,
      timeoutMs: 2000,
    });
  });

  test("with its options", async () => {
    const agent = new Agent();
    const options = { region: "eu-west-1", endpoint: "http://kms.internal", allowInsecureEndpoint: true, timeoutMs: 5 };
    expect(await planOf({ ...options, agent })).toMatchObject({
      settings: { region: "eu-west-1", endpoint: { url: "http://kms.internal" }, allowInsecureEndpoint: true },
      agent,
      timeoutMs: 5,
    });
    expect(await planOf({ maxSockets: 1 })).toMatchObject({ maxSockets: 1 });
    expect(await planOf({ maxSockets: 65_535 })).toMatchObject({ maxSockets: 65_535 });
  });

  test("with the members of credentials that AWS knows", async () => {
    const credentials = { accessKeyId: "A", secretAccessKey: "b", sessionToken: "c", expiration: new Date(7) };
    const given = { ...credentials, accountId: "1" };
    expect(await (await planOf({ credentials: given })).credentials?.()).toEqual(credentials);
  });

  test("with a function's credentials, and what it is asked", async () => {
    const provide = vi.fn<(request?: object) => { accessKeyId: string; secretAccessKey: string }>(() => ({
      accessKeyId: "A",
      secretAccessKey: "b",
    }));
    const plan = await planOf({ credentials: provide });
    expect(await plan.credentials?.({ forceRefresh: true })).toEqual({ accessKeyId: "A", secretAccessKey: "b" });
    expect(provide.mock.calls).toEqual([[{ forceRefresh: true }]]);
  });

  test("once for all calls, and passes them on", async () => {
    const api = kmsOverHttps();
    const options = { signal: new AbortController().signal };
    expect(await Promise.all([api.getPublicKey(key, options), api.sign(digest, options)])).toEqual([
      { given: [key, options] },
      { given: [digest, options] },
    ]);
    expect(await settingsOf(api)).toEqual({ region: "r" });
    expect(state.plans).toHaveLength(1);
  });

  test("again after it could not be opened", async () => {
    const failure = new ConfigurationError("AWS_CA_BUNDLE", "expected a file");
    state.open = () => Promise.reject(failure);
    const api = kmsOverHttps();
    expect(await rejection(api.sign(digest, {}))).toBe(failure);
    const { opened } = connection();
    state.open = async () => opened;
    expect(await api.sign(digest, {})).toMatchObject({});
    expect(state.plans).toHaveLength(2);
  });

  test("and says where a Region can be told, with the reason", async () => {
    const cause = new Error("Region is missing");
    state.open = () => Promise.reject(new ConfigurationError("region", NO_REGION, { cause }));
    expect(await rejection(kmsOverHttps().getPublicKey(key, {}))).toMatchObject({
      name: "ConfigurationError",
      argument: "region",
      message: expect.stringContaining("expected a Region in the option of kmsOverHttps") as string,
      cause,
    });
    const other = Object.assign(new Error(NO_REGION), { argument: "region" });
    state.open = () => Promise.reject(other);
    expect(await rejection(kmsOverHttps().getPublicKey(key, {}))).toBe(other);
  });
});

describe("kmsOverHttps refuses", () => {
  test.each<[options: object, argument: string]>([
    [{ maxSockets: 0 }, "maxSockets"],
    [{ maxSockets: 65_536 }, "maxSockets"],
    [{ agent: new Agent(), maxSockets: 1 }, "maxSockets"],
    [{ agent: null }, "agent"],
    [{ agent: { addRequest: 7 } }, "agent"],
    [{ credentials: {} }, "credentials"],
    [{ credentials: { accessKeyId: "A" } }, "credentials"],
    [{ credentials: { secretAccessKey: "b" } }, "credentials"],
    [{ credentials: { accessKeyId: 1, secretAccessKey: "b" } }, "credentials"],
    [{ credentials: "AKIA" }, "credentials"],
    [{ endpoint: "http://kms.internal" }, "endpoint"],
    [{ timeoutMs: 2_147_483_648 }, "timeoutMs"],
    [{ region: "" }, "region"],
    [{ timeout: 5 }, "timeout"],
  ])("%j by the name of %s", (options, argument) => {
    expect(() => kmsOverHttps(options)).toThrow(expect.objectContaining({ name: "ConfigurationError", argument }));
  });
});

describe("kmsOverHttps that is closed", () => {
  test("closes its connection, and opens no other", async () => {
    const { opened, close } = connection();
    state.open = async () => opened;
    const api = kmsOverHttps();
    await api.sign(digest, {});
    await api.close();
    expect(close).toHaveBeenCalledOnce();
    expect(await rejection(api.sign(digest, {}))).toMatchObject({ code: "closed" });
    expect(await rejection(api.getPublicKey(key, {}))).toMatchObject({ code: "closed" });
    expect(state.plans).toHaveLength(1);
  });

  test("waits for a connection that is being opened, and for its end", async () => {
    const { opened, close } = connection();
    let finish = (): void => undefined;
    state.open = () => new Promise((resolve) => (finish = () => resolve(opened)));
    let end = (): void => undefined;
    close.mockImplementation(() => new Promise((resolve) => (end = resolve)));
    const api = kmsOverHttps();
    const call = rejection(api.sign(digest, {}));
    let isClosed = false;
    const closing = api.close().then(() => (isClosed = true));
    finish();
    await vi.waitFor(() => expect(close).toHaveBeenCalledOnce());
    expect(isClosed).toBe(false);
    end();
    await closing;
    await call;
  });

  test("needs none, and none that could not be opened", async () => {
    await kmsOverHttps().close();
    state.open = () => Promise.reject(new Error("no"));
    const api = kmsOverHttps();
    const call = rejection(api.sign(digest, {}));
    await api.close();
    expect(String(await call)).toContain("no");
  });
});
