import * as sdk from "@aws-sdk/client-kms";
import type { KMSClientConfig } from "@aws-sdk/client-kms";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readEndpoint } from "@signpost/core/adapter";
import { createOwnClient, openOwnClient, socketsFor } from "../src/own-client.ts";
import type { Settings } from "../src/settings.ts";
import { loadingFailure } from "../src/sdk.ts";
import { createSockets } from "../src/sockets.ts";

const SETTINGS: Settings = {
  region: "eu-west-1",
  endpoint: undefined,
  useFipsEndpoint: true,
  useDualstackEndpoint: true,
  allowInsecureEndpoint: false,
  notes: [],
};

/** The SDK, with what its clients were made with. The first one is only asked for its default provider. */
function recordingSdk(): { sdk: typeof sdk; readonly made: KMSClientConfig[] } {
  const made: KMSClientConfig[] = [];
  class Client extends sdk.KMSClient {
    constructor(config: KMSClientConfig) {
      super(config);
      made.push(config);
    }
  }
  return { sdk: { ...sdk, KMSClient: Client }, made };
}

const ended = new AbortController().signal;

describe("a client of the adapter is made", () => {
  const configOf = (settings: Settings, timeoutMs = 2001): KMSClientConfig | undefined => {
    const { sdk: recording, made } = recordingSdk();
    const sockets = createSockets(50);
    createOwnClient(recording, settings, { sockets, timeoutMs, ended }).destroy();
    return made.at(-1);
  };

  test("without retries, and with a limit for each wait", () => {
    const { sdk: recording, made } = recordingSdk();
    const sockets = createSockets(50);
    createOwnClient(recording, SETTINGS, { sockets, timeoutMs: 2001, ended }).destroy();
    expect(made.at(-1)).toEqual({
      region: "eu-west-1",
      useFipsEndpoint: true,
      useDualstackEndpoint: true,
      maxAttempts: 1,
      retryMode: "standard",
      defaultsMode: "legacy",
      cacheMiddleware: true,
      credentialDefaultProvider: expect.any(Function),
      requestHandler: {
        connectionTimeout: 1001,
        requestTimeout: 2001,
        throwOnRequestTimeout: true,
        socketTimeout: 2001,
        socketAcquisitionWarningTimeout: 2001,
        httpAgent: sockets.httpAgent,
        httpsAgent: sockets.httpsAgent,
      },
    });
  });

  test("with an endpoint in place of what selects a public one", () => {
    const endpoint = { ...readEndpoint("endpoint", "https://kms.internal:8443"), inUri: true };
    expect(configOf({ ...SETTINGS, endpoint })).toMatchObject({
      endpoint: "https://kms.internal:8443",
      useFipsEndpoint: false,
      useDualstackEndpoint: false,
    });
  });

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
  ])("and of a request of %i ms, its connection may take %i", (timeoutMs, connectionTimeout) => {
    expect(configOf(SETTINGS, timeoutMs)?.requestHandler).toMatchObject({ connectionTimeout });
  });
});

describe("a client of the adapter waits for credentials", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  /** The SDK, whose default credentials never come. */
  class Client extends sdk.KMSClient {
    constructor(config: KMSClientConfig) {
      super(config);
      const never = (): (() => Promise<never>) => () => new Promise<never>(() => undefined);
      if (config.credentialDefaultProvider === undefined)
        Object.assign(this.config, { credentialDefaultProvider: never });
    }
  }

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [2000, 1800],
  ])("a little less than an attempt: of %i ms, %i", async (timeoutMs, patienceMs) => {
    const limits = { sockets: createSockets(50), timeoutMs, ended };
    const client = createOwnClient({ ...sdk, KMSClient: Client }, SETTINGS, limits);
    const settled: unknown[] = [];
    client.config.credentials().catch((error: unknown) => settled.push(error));
    await vi.advanceTimersByTimeAsync(patienceMs - 1);
    expect(settled).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toMatchObject([{ message: `no credentials within ${patienceMs} ms` }]);
    client.destroy();
  });
});

test("closing a client of the adapter destroys it", async () => {
  const destroy = vi.spyOn(sdk.KMSClient.prototype, "destroy");
  const plan = { policy: false as const, pinned: undefined, bounds: { deadlineMs: 5000, attemptTimeoutMs: 2000 } };
  const { close } = openOwnClient(sdk, SETTINGS, plan as unknown as Parameters<typeof openOwnClient>[2]);
  const before = destroy.mock.calls.length;
  await close();
  expect(destroy.mock.calls.length).toBe(before + 1);
  destroy.mockRestore();
});

test("there are as many sockets as calls, and at least 50, and no limit where the caller limits the calls", () => {
  const limiter = { run: async () => undefined } as never;
  expect([{}, { concurrency: 50 }, { concurrency: 51 }, { concurrency: 1 }].map(socketsFor)).toEqual([50, 50, 51, 50]);
  expect([socketsFor(false), socketsFor({ limiter })]).toEqual([Infinity, Infinity]);
});

describe("an SDK that does not load", () => {
  const failed = (words: string): string => `expected @aws-sdk/client-kms to load, but it failed with "${words}"`;
  const inside =
    ': its CommonJS cannot run inside this bundle; bundle its ES modules (main fields "module,main"), or make it external';
  const missing = "expected the peer dependency @aws-sdk/client-kms to be installed";
  test.each([
    ["Cannot find package '@aws-sdk/client-kms' imported from /app", missing],
    ["Cannot find module '@aws-sdk/client-kms'\nRequire stack:", missing],
    ["x: Cannot find module '@aws-sdk/client-kms'", failed("x: Cannot find module '@aws-sdk/client-kms'")],
    ["no\nCannot find module '@aws-sdk/client-kms'", failed("no")],
    ['Dynamic require of "util" is not supported', `${failed('Dynamic require of "util" is not supported')}${inside}`],
    ["x Dynamic require of", failed("x Dynamic require of")],
    ...["require", "module", "exports", "__dirname", "__filename"].map((name) => [
      `${name} is not defined`,
      `${failed(`${name} is not defined`)}${inside}`,
    ]),
    ["my require is not defined", failed("my require is not defined")],
    ["TypeError: require_dist is not a function", `${failed("TypeError: require_dist is not a function")}${inside}`],
    ["window is not defined", failed("window is not defined")],
  ])("says of %j what to do", (message, expected) => {
    expect(loadingFailure(new Error(message))).toBe(expected);
  });

  test("without a message says so too", () => {
    expect(loadingFailure(undefined)).toBe(failed(""));
  });
});
