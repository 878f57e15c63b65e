import { Agent } from "node:https";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { readEndpoint } from "@signpost/core/adapter";
import type { HttpService } from "../../src/https/http-api.ts";
import { openHttps, type HttpsPlan } from "../../src/https/open.ts";
import { provideCredentials } from "../environment.ts";

/** What the calls are made with. */
const made = vi.hoisted(() => [] as HttpService[]);
vi.mock("../../src/https/http-api.ts", async (load) => {
  const real = await load<typeof import("../../src/https/http-api.ts")>();
  return {
    ...real,
    createHttpApi: (service: HttpService) => {
      made.push(service);
      return real.createHttpApi(service);
    },
  };
});

/** How often the SDK was loaded, and why it cannot be. */
const sdk = vi.hoisted(() => ({ loads: 0, failure: undefined as Error | undefined }));
vi.mock("../../src/sdk.ts", async (load) => {
  const real = await load<typeof import("../../src/sdk.ts")>();
  return {
    ...real,
    loadSdk: async () => {
      sdk.loads += 1;
      if (sdk.failure !== undefined) throw sdk.failure;
      return real.loadSdk();
    },
  };
});

beforeEach(() => {
  made.length = 0;
  Object.assign(sdk, { loads: 0, failure: undefined });
  provideCredentials(undefined);
});

const PAIR = { accessKeyId: "AKIA1", secretAccessKey: "secret" };

async function open(others: Partial<HttpsPlan> = {}, endpoint?: string) {
  const connection = await openHttps({
    settings: {
      region: "eu-west-1",
      endpoint: endpoint === undefined ? undefined : readEndpoint("endpoint", endpoint),
      allowInsecureEndpoint: false,
    },
    maxSockets: 7,
    timeoutMs: 2000,
    ...others,
  });
  onTestFinished(() => connection.close());
  const service = made.at(-1);
  if (service === undefined) throw new Error("expected calls");
  return { ...connection, service };
}

describe("a connection over https goes", () => {
  test.each([
    [undefined, "kms.eu-west-1.amazonaws.com", 443, false, "kms.eu-west-1.amazonaws.com"],
    ["https://kms.internal", "kms.internal", 443, false, "kms.internal"],
    ["https://kms.internal:8443", "kms.internal", 8443, false, "kms.internal:8443"],
    ["http://127.0.0.1", "127.0.0.1", 80, true, "127.0.0.1"],
    ["http://127.0.0.1:4566", "127.0.0.1", 4566, true, "127.0.0.1:4566"],
    ["http://[::1]:4566", "::1", 4566, true, "[::1]:4566"],
    ["https://[::1]", "::1", 443, false, "[::1]"],
  ])("with the endpoint %s to %s, port %i", async (endpoint, hostname, port, plaintext, host) => {
    const { service, settings } = await open({}, endpoint);
    expect(service).toMatchObject({ host, region: "eu-west-1" });
    expect(service.target).toMatchObject({ hostname, port, plaintext, path: "/", timeoutMs: 2000 });
    expect(Reflect.get(service.target.agent, "protocol")).toBe(plaintext ? "http:" : "https:");
    expect(service.target.agent.maxSockets).toBe(7);
    expect(settings.region).toBe("eu-west-1");
  });

  test.each([
    ["http://127.0.0.1:4566/kms", "/kms/"],
    ["http://127.0.0.1:4566/kms/", "/kms/"],
  ])("below the path of %s", async (url, path) => {
    process.env["AWS_ENDPOINT_URL_KMS"] = url;
    expect((await open()).service.target.path).toBe(path);
  });

  test("through the agent of the caller, whichever the protocol", async () => {
    const agent = new Agent();
    for (const endpoint of ["https://kms.internal", "http://127.0.0.1:1"]) {
      expect((await open({ agent }, endpoint)).service.target.agent).toBe(agent);
    }
  });
});

describe("the credentials of a connection over https", () => {
  test("of a function are asked for the Region, and newer ones are asked for so", async () => {
    const asked: unknown[] = [];
    const { service } = await open({
      credentials: async (options) => {
        const { callerClientConfig, ...others } = options as { callerClientConfig: { region(): Promise<string> } };
        asked.push([await callerClientConfig.region(), others]);
        return PAIR;
      },
    });
    expect(await service.credentials.get()).toMatchObject(PAIR);
    await service.credentials.renew();
    expect(asked).toEqual([
      ["eu-west-1", {}],
      ["eu-west-1", { forceRefresh: true }],
    ]);
  });

  test.each([
    [1, 1],
    [3, 2],
    [2000, 1800],
  ])("of a function may take a little less than a call: of %i ms, %i", async (timeoutMs, patienceMs) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { service } = await open({ credentials: () => new Promise(() => undefined), timeoutMs });
    const settled: unknown[] = [];
    Promise.resolve(service.credentials.get()).catch((error: unknown) => settled.push(error));
    await vi.advanceTimersByTimeAsync(patienceMs - 1);
    expect(settled).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toMatchObject([{ message: `no credentials within ${patienceMs} ms` }]);
  });

  test("are those of the environment, which are read at each question", async () => {
    const { service } = await open();
    await expect(service.credentials.get()).rejects.toMatchObject({ name: "CredentialsError" });
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: "AKIA1", AWS_SECRET_ACCESS_KEY: "secret" });
    expect(await service.credentials.get()).toMatchObject(PAIR);
    process.env["AWS_ACCESS_KEY_ID"] = "AKIA2";
    await service.credentials.renew();
    expect(await service.credentials.get()).toMatchObject({ accessKeyId: "AKIA2" });
  });
});

describe("the default credentials of a connection over https", () => {
  test("are searched by one client of the SDK, which is loaded when it is needed", async () => {
    const { service } = await open();
    expect(sdk.loads).toBe(0);
    for (let question = 0; question < 2; question += 1) {
      await expect(service.credentials.get()).rejects.toMatchObject({ name: "CredentialsError" });
    }
    expect(sdk.loads).toBe(1);
  });

  test("say why the SDK cannot be loaded, which is tried again", async () => {
    const { service } = await open();
    sdk.failure = new Error("not installed");
    await expect(service.credentials.get()).rejects.toBe(sdk.failure);
    await expect(service.credentials.get()).rejects.toBe(sdk.failure);
    expect(sdk.loads).toBe(2);
    sdk.failure = undefined;
    await expect(service.credentials.get()).rejects.toMatchObject({ name: "CredentialsError" });
    expect(sdk.loads).toBe(3);
  });

  test("end with the connection", async () => {
    const { service, close } = await open();
    await expect(service.credentials.get()).rejects.toMatchObject({ name: "CredentialsError" });
    await close();
    await expect(service.credentials.get()).rejects.toMatchObject({ message: "no credentials: the client is closed" });
  });
});

describe("a connection over https that is closed", () => {
  const key = { KeyId: "k" };
  const digest = {
    ...key,
    Message: new Uint8Array(32),
    MessageType: "DIGEST",
    SigningAlgorithm: "ECDSA_SHA_256",
  } as const;

  test("refuses both calls, and a call that was waiting", async () => {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { api, close, service } = await open({ credentials: async () => PAIR, timeoutMs: 30_000 }, url);
    service.assertOpen();
    const arrived = new Promise((resolve) => void server.once("request", resolve));
    const waiting = api.sign(digest, {}).catch((error: unknown) => error);
    await arrived;
    const destroy = vi.spyOn(service.target.agent, "destroy");
    await close();
    expect(destroy).toHaveBeenCalledOnce();
    expect(await waiting).toMatchObject({ code: "closed" });
    expect(() => service.assertOpen()).toThrow(expect.objectContaining({ code: "closed" }));
    await expect(api.getPublicKey(key, {})).rejects.toMatchObject({ code: "closed" });
    await expect(api.sign(digest, {})).rejects.toMatchObject({ code: "closed" });
  });

  test("leaves the agent of the caller open", async () => {
    const agent = new Agent();
    const destroy = vi.spyOn(agent, "destroy");
    const { close } = await open({ agent });
    await close();
    expect(destroy).not.toHaveBeenCalled();
  });
});
