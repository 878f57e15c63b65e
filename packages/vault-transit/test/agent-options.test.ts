import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createLimiter, type GuardPolicy } from "@signpost/core";
import { planOpening, readInstant } from "@signpost/core/adapter";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { createOwnDispatcher } from "../src/own-dispatcher.ts";
import { loadingFailure } from "../src/undici.ts";

// What undici's agent is made with, without a server.

type Callback = (error: Error | null, socket: unknown) => void;
interface Made {
  readonly options: object;
  isDestroyed: boolean;
}
const made = vi.hoisted(() => ({ agents: [] as Made[], connectors: [] as object[] }));
const target = { hostname: "vault.example" };

vi.mock("../src/undici.ts", async (load) => ({
  ...(await load<object>()),
  loadUndici: async () => ({
    Agent: class implements Made {
      readonly options: object;
      isDestroyed = false;
      constructor(options: object) {
        this.options = options;
        made.agents.push(this);
      }
      async close(): Promise<void> {}
      async destroy(): Promise<void> {
        this.isDestroyed = true;
      }
    },
    buildConnector: (options: object) => {
      const number = made.connectors.push(options);
      return (to: object, callback: Callback) => callback(null, [number, to]);
    },
  }),
}));

beforeEach(() => {
  made.agents.length = 0;
  made.connectors.length = 0;
});

const limiter = createLimiter({ concurrency: 1, maxQueue: 1 });

test.each<[what: string, policy: GuardPolicy | false, connections: number]>([
  ["for a bare signer", false, 256],
  ["for a limiter of the caller", { limiter }, 256],
  ["for the default policy", {}, 18],
  ["for 15 calls at once", { concurrency: 15 }, 18],
  ["for 16 calls at once", { concurrency: 16 }, 18],
  ["for 17 calls at once", { concurrency: 17 }, 19],
])(
  "an agent %s keeps connections for 20 s, and leaves the time of a call to its signal",
  async (_what, policy, connections) => {
    await createOwnDispatcher({}, planOpening({ policy }));
    expect(made.agents.map(({ options }) => options)).toEqual([
      {
        connections,
        keepAliveTimeout: 20_000,
        keepAliveMaxTimeout: 20_000,
        connect: expect.any(Function),
        headersTimeout: 0,
        bodyTimeout: 0,
      },
    ]);
  },
);

test.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [2000, 1000],
])("of an attempt of %i ms, a connection may take %i ms", async (attemptTimeoutMs, timeout) => {
  const plan = planOpening({ policy: { attemptTimeoutMs } });
  await createOwnDispatcher({}, plan);
  await createOwnDispatcher({ serverName: "vault.internal" }, plan);
  expect(made.connectors).toEqual([{ timeout }, { timeout, servername: "vault.internal" }]);
});

test("an agent is replaced after a lost connection, and closing ends the new one", async () => {
  const dispatcher = await createOwnDispatcher({}, planOpening({}));
  const { signal } = new AbortController();
  dispatcher.failed(new Error("refused"), readInstant(), signal);
  expect(made.agents).toHaveLength(1);
  dispatcher.failed(Object.assign(new Error("cut"), { code: "ECONNRESET" }), readInstant(), signal);
  await dispatcher.close();
  expect(made.agents.map(({ isDestroyed }) => isDestroyed)).toEqual([false, true]);
});

test("a file with authorities is read for each connection", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-agent-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const caFile = join(folder, "ca.pem");
  const [first, second] = [selfSignedCertificate("a.example").cert, selfSignedCertificate("b.example").cert];
  await writeFile(caFile, first);
  await createOwnDispatcher({ caFile, serverName: "vault.internal" }, planOpening({}));
  const connect = Reflect.get(made.agents[0]?.options ?? {}, "connect") as (to: object, callback: Callback) => void;
  const outcome = (): Promise<unknown> =>
    new Promise((resolve) => connect(target, (error, socket) => resolve(error ?? socket)));
  expect(await outcome()).toEqual([1, target]);
  await writeFile(caFile, second);
  expect(await outcome()).toEqual([2, target]);
  const others = { timeout: 1000, servername: "vault.internal" };
  expect(made.connectors).toEqual([
    { ...others, ca: first },
    { ...others, ca: second },
  ]);
  await writeFile(caFile, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  expect(await outcome()).toMatchObject({ code: "unavailable", cause: { argument: "tls.caFile" } });
  expect(made.connectors).toHaveLength(2);
});

test.each([
  [1000, 250],
  [1001, 251],
])("of an attempt of %i ms, reading a file again takes at most %i ms", async (attemptTimeoutMs, readMs) => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-agent-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const caFile = join(folder, "ca.pem");
  await writeFile(caFile, selfSignedCertificate("a.example").cert);
  await createOwnDispatcher({ caFile }, planOpening({ policy: { attemptTimeoutMs } }));
  const connect = Reflect.get(made.agents[0]?.options ?? {}, "connect") as (to: object, callback: Callback) => void;
  const timers = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => timers.mockRestore());
  await new Promise<void>((resolve) => connect(target, () => resolve()));
  expect(timers).toHaveBeenCalledWith(expect.any(Function), readMs);
});

describe("undici that does not load", () => {
  const failed = (words: string): string => `expected the package undici to load, but it failed with "${words}"`;
  const inside = ": its CommonJS cannot run inside this bundle; make undici external, or bundle to CommonJS";
  const missing = "expected the package undici to be installed where the bundle runs";
  test.each([
    ["Cannot find package 'undici' imported from /app", missing],
    ["Cannot find module 'undici/index.js'\nRequire stack:", missing],
    ["Cannot find package 'undici-types'", failed("Cannot find package 'undici-types'")],
    ["x: Cannot find module 'undici'", failed("x: Cannot find module 'undici'")],
    ["no\nCannot find module 'undici'", failed("no")],
    ['Dynamic require of "util" is not supported', `${failed('Dynamic require of "util" is not supported')}${inside}`],
    ["x Dynamic require of", failed("x Dynamic require of")],
    ...["require", "module", "exports", "__dirname", "__filename"].map((name) => [
      `${name} is not defined`,
      `${failed(`${name} is not defined`)}${inside}`,
    ]),
    ["my require is not defined", failed("my require is not defined")],
    ["window is not defined", failed("window is not defined")],
  ])("says of %j what to do", (message, expected) => {
    expect(loadingFailure(new Error(message))).toBe(expected);
  });

  test("without a message says so too", () => {
    expect(loadingFailure(undefined)).toBe(failed(""));
  });
});
