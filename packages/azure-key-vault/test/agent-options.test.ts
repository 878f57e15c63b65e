import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createLimiter, SignerError, type GuardPolicy } from "@signpost/core";
import { planOpening, readInstant } from "@signpost/core/adapter";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { createOwnDispatcher } from "../src/own-dispatcher.ts";
import { loadingFailure } from "../src/undici.ts";

// What undici's agent is made with, without a server.

type Callback = (error: Error | null, socket: unknown) => void;
interface Made {
  readonly options: object;
  isClosed: boolean;
  isDestroyed: boolean;
}
const made = vi.hoisted(() => ({ agents: [] as Made[], connectors: [] as object[] }));
const target = { hostname: "vault.example" };

vi.mock("../src/undici.ts", async (load) => ({
  ...(await load<object>()),
  loadUndici: async () => ({
    Agent: class implements Made {
      readonly options: object;
      isClosed = false;
      isDestroyed = false;
      constructor(options: object) {
        this.options = options;
        made.agents.push(this);
      }
      async close(): Promise<void> {
        this.isClosed = true;
        throw new Error("already closed");
      }
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
  ["for a bare signer", false, 64],
  ["for a limiter of the caller", { limiter }, 256],
  ["for the default policy", {}, 16],
  ["for 15 calls at once", { concurrency: 15 }, 16],
  ["for 16 calls at once", { concurrency: 16 }, 16],
  ["for 17 calls at once", { concurrency: 17 }, 17],
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

describe("an agent is replaced", () => {
  const { signal } = new AbortController();
  const CUT = Object.assign(new Error("cut"), { code: "ECONNRESET" });

  test("once for calls that began before that, and the old one is left to its calls", async () => {
    const dispatcher = await createOwnDispatcher({}, planOpening({}));
    const startedAt = readInstant();
    dispatcher.failed(CUT, startedAt, signal);
    expect(made.agents.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    dispatcher.failed(CUT, { ...startedAt, monotonic: startedAt.monotonic - 1 }, signal);
    expect(made.agents).toHaveLength(2);
    await dispatcher.close();
    expect(made.agents.map(({ isDestroyed }) => isDestroyed)).toEqual([false, true]);
  });

  test("after a call that ran out of time, and not after a refusal or a caller that gave up", async () => {
    const dispatcher = await createOwnDispatcher({}, planOpening({}));
    dispatcher.failed(new Error("refused"), readInstant(), signal);
    dispatcher.failed(new Error("aborted"), readInstant(), AbortSignal.abort(new Error("gone")));
    expect(made.agents).toHaveLength(1);
    dispatcher.failed(new Error("aborted"), readInstant(), AbortSignal.abort(new SignerError("timeout", "late")));
    expect(made.agents).toHaveLength(2);
  });
});

describe("a file with authorities", () => {
  const connectOf = async (caFile: string): Promise<(to: object, callback: Callback) => void> => {
    await createOwnDispatcher({ caFile, serverName: "vault.internal" }, planOpening({}));
    return Reflect.get(made.agents[0]?.options ?? {}, "connect") as (to: object, callback: Callback) => void;
  };
  const outcome = (connect: Awaited<ReturnType<typeof connectOf>>): Promise<unknown> =>
    new Promise((resolve) => connect(target, (error, socket) => resolve(error ?? socket)));

  test("is read for each connection, and makes a connector only when it has changed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "signpost-agent-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const caFile = join(folder, "ca.pem");
    const [first, second] = [selfSignedCertificate("a.example").cert, selfSignedCertificate("b.example").cert];
    await writeFile(caFile, first);
    const connect = await connectOf(caFile);
    expect(await outcome(connect)).toEqual([1, target]);
    expect(await outcome(connect)).toEqual([1, target]);
    await writeFile(caFile, second);
    expect(await outcome(connect)).toEqual([2, target]);
    const others = { timeout: 1000, servername: "vault.internal" };
    expect(made.connectors).toEqual([
      { ...others, ca: first },
      { ...others, ca: second },
    ]);
    await rm(caFile);
    expect(await outcome(connect)).toMatchObject({
      name: "SignerError",
      code: "unavailable",
      message: expect.stringMatching(/^no connection can be made: tls\.caFile: /),
      cause: { name: "ConfigurationError" },
    });
  });
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
