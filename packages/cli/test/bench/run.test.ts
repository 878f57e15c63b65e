import { generateKeyPairSync, sign } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { guardSigner, spkiToJwk, type GuardedSigner, type GuardPolicy } from "@signpost/core";
import { createSigner } from "@signpost/core/adapter";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { BenchFlags } from "../../src/bench/command.ts";
import { runBench } from "../../src/bench/run.ts";
import type { OpenRaw, RawOrder } from "../../src/bench/side.ts";
import type { CliContext } from "../../src/program/context.ts";
import { createKeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

// What `signpost bench` asks before it measures, what it opens and closes, and how it ends.

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const fake = vi.hoisted(() => ({
  /** What was opened, signed and closed, in order. */
  events: [] as string[],
  policies: [] as (GuardPolicy | undefined)[],
  orders: [] as RawOrder[],
  /** Of the bare call. */
  sign: async (): Promise<void> => undefined,
  openBare: async (): Promise<void> => undefined,
  /** Of the key. */
  signKey: async (): Promise<void> => undefined,
  consent: undefined as boolean | undefined,
  questions: [] as string[],
}));

vi.mock("../../src/keys/open-key.ts", () => ({
  keyOpener:
    (_context: object, _adapters: object, _ask: object, policy?: GuardPolicy) => async (): Promise<GuardedSigner> => {
      fake.events.push("open key");
      fake.policies.push(policy);
      const bare = createSigner({
        uri: "local:#opened",
        publicKey: spkiToJwk(publicKey.export({ type: "spki", format: "der" })),
        signDigest: async (_digest, { signingInput = new Uint8Array() }) => {
          await fake.signKey();
          return sign("sha256", signingInput, { key: privateKey, dsaEncoding: "ieee-p1363" });
        },
        close: async () => void fake.events.push("close key"),
      });
      return guardSigner(bare, policy);
    },
}));
vi.mock("../../src/bench/raw/open.ts", () => ({
  rawOf: (): OpenRaw => async (order) => {
    fake.orders.push(order);
    await fake.openBare();
    fake.events.push("open bare");
    return {
      name: "bare",
      sign: () => fake.sign(),
      codeOf: String,
      close: async () => void fake.events.push("close bare"),
    };
  },
}));
vi.mock("../../src/program/prompts.ts", async (original) => ({
  ...(await original<typeof import("../../src/program/prompts.ts")>()),
  canAsk: () => fake.consent !== undefined,
  askConsent: async (_context: object, question: string) => {
    fake.questions.push(question);
    return fake.consent;
  },
}));

beforeEach(() => {
  for (const list of [fake.events, fake.policies, fake.orders, fake.questions]) list.length = 0;
  const nothing = async (): Promise<void> => undefined;
  Object.assign(fake, { sign: nothing, signKey: nothing, openBare: nothing, consent: undefined });
});

function contextOf(more: Partial<CliContext> = {}) {
  const context = recordingContext("/");
  const said: string[] = [];
  const messages = { ...context.messages, line: (text = "") => void said.push(text) };
  return { ...context, messages, ...more, said };
}

const FEW: BenchFlags = { calls: 4, concurrency: [2] };
const AWS = "awskms:///alias/op";

describe("calls that are billed", () => {
  const BILL = "AWS KMS bills up to 8 calls";

  test("are not made without a terminal to ask at", async () => {
    await expect(runBench(contextOf(), FEW, AWS)).rejects.toMatchObject({
      exitCode: 2,
      code: "confirmation",
      message: `${BILL}, and there is no terminal to ask whether you want that`,
      hint: "Add --yes, or make fewer calls with --calls",
    });
    expect(fake.events).toEqual([]);
  });

  test("are not made after a no", async () => {
    fake.consent = false;
    await expect(runBench(contextOf(), FEW, AWS)).rejects.toMatchObject({ exitCode: 2, code: "cancelled" });
    expect([fake.questions, fake.events]).toEqual([[`${BILL}. Make them?`], []]);
  });

  test("are made after a yes", async () => {
    fake.consent = true;
    const context = contextOf();
    expect(await runBench(context, FEW, AWS)).toBe(0);
    expect([fake.questions, context.said]).toEqual([[`${BILL}. Make them?`], []]);
  });

  test("are told with --yes, and not asked about", async () => {
    fake.consent = false;
    const context = contextOf();
    expect(await runBench(context, { ...FEW, yes: true }, AWS)).toBe(0);
    expect([fake.questions, context.said]).toEqual([[], [BILL]]);
  });
});

test("calls that are not billed need no consent", async () => {
  const context = contextOf();
  expect(await runBench(context, FEW, "local:")).toBe(0);
  expect([fake.questions, context.said]).toEqual([[], []]);
});

describe("both sides", () => {
  test("are closed in the other order than they were opened", async () => {
    expect(await runBench(contextOf(), { ...FEW, raw: true }, "local:")).toBe(0);
    expect(fake.events).toEqual(["open key", "open bare", "close bare", "close key"]);
    expect(fake.orders).toMatchObject([{ uri: "local:", keyUri: "local:#opened", concurrency: 2 }]);
    expect(await fake.orders[0]?.pin()).toBeUndefined();
  });

  test("are one without --raw", async () => {
    await runBench(contextOf(), FEW, "local:");
    expect(fake.events).toEqual(["open key", "close key"]);
  });

  test("are not measured if the key cannot sign a probe, and it is closed", async () => {
    fake.signKey = () => Promise.reject(new TypeError("the key is disabled"));
    const context = contextOf();
    await expect(runBench(context, { ...FEW, raw: true }, "local:")).rejects.toThrow();
    expect([fake.events, fake.orders, context.printed()]).toEqual([["open key", "close key"], [], ""]);
  });

  test("leave no key open if the bare call cannot be opened", async () => {
    fake.openBare = () => Promise.reject(new Error("no SDK"));
    await expect(runBench(contextOf(), { ...FEW, raw: true }, "local:")).rejects.toThrow("no SDK");
    expect(fake.events).toEqual(["open key", "close key"]);
  });

  test("need no connection that only the adapter has", async () => {
    await using folder = await createKeyFolder();
    const config = "{ issuer: 'https://a.example', keys: [], adapters: { vault: { dispatcher: {} } } }";
    await folder.write("own.mjs", `export default ${config};`);
    const flags = { ...FEW, config: "own.mjs" };
    const context = (): CliContext => contextOf({ cwd: folder.path });
    await expect(runBench(context(), { ...flags, raw: true }, "vault:///transit/keys/a")).rejects.toMatchObject({
      exitCode: 2,
      code: "no_raw",
      message: "--raw cannot use the option dispatcher of the adapter",
      hint: "Leave --raw out",
    });
    expect(await runBench(context(), flags, "vault:///transit/keys/a")).toBe(0);
  });
});

test.each<[uri: string, concurrency: readonly number[], policy: object | undefined]>([
  ["local:", [16], undefined],
  ["local:", [17], { concurrency: 17 }],
  ["local:", [1, 20, 4], { concurrency: 20 }],
  ["pkcs11:object=a", [64], undefined],
])("for %s with %j calls at once, the policy of the guard is %j", async (uri, concurrency, policy) => {
  await runBench(contextOf(), { calls: 1, concurrency }, uri);
  expect(fake.policies).toEqual([policy]);
});

describe("the exit code", () => {
  const raw = (more: object = {}): BenchFlags => ({ ...FEW, raw: true, json: true, ...more });

  test("is that of a finding if some calls failed", async () => {
    let calls = 0;
    fake.sign = async () => {
      calls += 1;
      if (calls === 4) throw new Error("throttled");
    };
    const context = contextOf();
    expect(await runBench(context, raw(), "local:")).toBe(1);
    const { ok, levels } = JSON.parse(context.printed());
    expect([ok, levels[0].raw.errors, levels[0].signpost.failures]).toEqual([false, { "Error: throttled": 1 }, 0]);
  });

  test("is that of a mistake if the picture cannot be written, after the figures", async () => {
    await using folder = await createKeyFolder();
    await mkdir(join(folder.path, "pictures"));
    const context = contextOf({ cwd: folder.path });
    const during: CliContext["during"] = async (_text, work) => {
      const result = await work(() => undefined);
      // Its folder is removed while calls are made.
      await rm(join(folder.path, "pictures"), { recursive: true, force: true });
      return result;
    };
    const flags = { ...FEW, json: true, svg: "pictures/a.svg" };
    const code = await runBench({ ...context, during }, flags, "local:");
    expect(code).toBe(2);
    expect(context.said).toEqual([expect.stringMatching(/^error .*a\.svg: cannot be written \(ENOENT\)$/)]);
    expect(JSON.parse(context.printed())).toMatchObject({ ok: false, error: { code: "file_unwritable" } });
  });
});

test("levels are measured one after the other, until nothing but failures comes", async () => {
  fake.sign = () => Promise.reject("timeout");
  const context = contextOf();
  const flags: BenchFlags = { calls: 1000, concurrency: [1, 2], raw: true, json: true };
  expect(await runBench(context, flags, "local:")).toBe(1);
  const { levels } = JSON.parse(context.printed());
  expect(levels.map(({ concurrency, gaveUp }: Record<string, unknown>) => [concurrency, gaveUp])).toEqual([[1, true]]);
});

test("a command that was stopped prints what it has, and is not ok", async () => {
  const controller = new AbortController();
  let calls = 0;
  fake.sign = async () => {
    calls += 1;
    if (calls === 3) controller.abort();
  };
  const context = contextOf({ signal: controller.signal });
  await runBench(context, { calls: 1000, concurrency: [1, 2], raw: true, json: true }, "local:");
  const { ok, wasStopped, levels } = JSON.parse(context.printed());
  expect([ok, wasStopped, levels.length]).toEqual([false, true, 1]);
  expect(fake.events.slice(-2)).toEqual(["close bare", "close key"]);
});

test("a person is told how many calls ended, five times a second, and no timer is left", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let ms = 200;
  fake.sign = async () => void vi.advanceTimersByTime(ms);
  const told: string[] = [];
  const during: CliContext["during"] = (_text, work) => work((text) => void told.push(text));
  const few = { calls: 3, concurrency: [1], raw: true };
  await runBench(contextOf({ during }), few, "local:");
  // Nothing has ended at the first call. Then come those of Signpost.
  expect(told).toEqual([5, 6, 7].map((calls) => `Signing, 1 at once: ${calls} calls`));
  ms = 199;
  told.length = 0;
  await runBench(contextOf({ during }), few, "local:");
  expect(told).toHaveLength(3);
  ms = 66;
  told.length = 0;
  await runBench(contextOf({ during }), few, "local:");
  expect([told.length, vi.getTimerCount()]).toEqual([1, 0]);
});
