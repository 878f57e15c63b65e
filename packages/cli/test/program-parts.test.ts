import { ConfigurationError, SignerError, type GuardedSigner } from "@signpost/core";
import { describe, expect, test, vi } from "vitest";
import { ownConnection } from "../src/backends/own-connection.ts";
import { withKey } from "../src/keys/open-key.ts";
import { hostOf, isOnLoopback } from "../src/network/host.ts";
import { CliError } from "../src/program/cli-error.ts";
import type { CliContext } from "../src/program/context.ts";
import { at } from "../src/program/place.ts";
import { runnable } from "../src/program/runnable.ts";
import { recordingContext } from "./support/recording-context.ts";

describe("the place of an error", () => {
  async function thrown(error: unknown): Promise<unknown> {
    try {
      return await at("keys[0]: ", () => {
        throw error;
      });
    } catch (failure) {
      return failure;
    }
  }

  test.each([
    [new ConfigurationError("a", "expected b"), 2, "invalid_configuration", "keys[0]: a: expected b"],
    [new SignerError("unavailable", "no answer"), 3, "unavailable", "keys[0]: no answer"],
    [new CliError(1, "a_code", "found", { hint: "look" }), 1, "a_code", "keys[0]: found"],
  ])("goes before the message of %o", async (error, exitCode, code, message) => {
    const placed = await thrown(error);
    expect(placed).toBeInstanceOf(CliError);
    expect(placed).toMatchObject({ exitCode, code, message, cause: error });
    if (error instanceof CliError) expect(placed).toMatchObject({ hint: "look" });
  });

  test("is not added to a mistake in this program", async () => {
    const error = new TypeError("a mistake");
    expect(await thrown(error)).toBe(error);
  });

  test("is not needed for work that succeeds", async () => {
    expect(await at("a: ", async () => 7)).toBe(7);
  });
});

describe("a command", () => {
  interface Ended {
    readonly code: unknown;
    readonly printed: string;
    readonly said: readonly string[];
  }

  async function run(work: (context: CliContext) => Promise<0 | 1>, flags = {}, isStopped = false): Promise<Ended> {
    const controller = new AbortController();
    if (isStopped) controller.abort();
    const context = recordingContext("/");
    const said: string[] = [];
    const messages = { ...context.messages, line: (text = "") => void said.push(text) };
    const { process } = context;
    const own: CliContext = { ...context, messages, signal: controller.signal, process };
    await runnable(work).call(own, flags);
    return { code: process.exitCode, printed: context.printed(), said };
  }

  test.each([0, 1] as const)("ends with the code %i that it says", async (code) => {
    expect(await run(async () => code)).toEqual({ code, printed: "", said: [] });
  });

  test("says what failed on stderr, with what to do", async () => {
    const failing = (): Promise<never> => Promise.reject(new CliError(3, "away", "it is\u001B away", { hint: "wait" }));
    const { code, printed, said } = await run(failing);
    expect([code, printed, said[1], said.length]).toEqual([3, "", "hint  wait", 2]);
    expect(said[0]).toMatch(/^error it is.* away$/);
    expect(said[0]).not.toContain("\u001B");
  });

  test("says nothing of a hint that there is not", async () => {
    const failing = (): Promise<never> => Promise.reject(new CliError(2, "flags", "a mistake"));
    expect(await run(failing, { json: true })).toEqual({
      code: 2,
      printed: `${JSON.stringify({ error: { code: "flags", message: "a mistake" } }, undefined, 2)}\n`,
      said: ["error a mistake"],
    });
  });

  test("says it to programs too", async () => {
    const failing = (): Promise<never> => Promise.reject(new CliError(2, "flags", "a mistake", { hint: "look" }));
    const { printed } = await run(failing, { json: true });
    expect(JSON.parse(printed)).toEqual({ error: { code: "flags", message: "a mistake", hint: "look" } });
  });

  test("that was stopped has no failure to tell", async () => {
    const failing = (): Promise<never> => Promise.reject(new Error("cut off"));
    expect(await run(failing, { json: true }, true)).toEqual({ code: 0, printed: "", said: [] });
  });

  test("gets its arguments", async () => {
    const work = vi.fn<(context: CliContext, flags: object, ...args: string[]) => Promise<0>>(async () => 0);
    const context = recordingContext("/");
    await runnable(work).call(context, { json: false }, "a", "b");
    expect(work).toHaveBeenCalledWith(context, { json: false }, "a", "b");
  });
});

describe("a key is closed after the work", () => {
  const close = vi.fn<() => Promise<void>>(async () => undefined);
  const key = { close } as unknown as GuardedSigner;

  test.each([
    ["succeeds", async () => 7, { value: 7 }],
    ["fails", () => Promise.reject(new Error("no")), { error: new Error("no") }],
  ])("that %s", async (_what, work, outcome) => {
    close.mockClear();
    const done = await withKey(async () => key, "local:", work).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    expect(done).toEqual(outcome);
    expect(close).toHaveBeenCalledTimes(1);
  });
});

test.each([
  [{}, undefined],
  [{ region: "eu-west-1", client: undefined }, undefined],
  [{ client: {} }, "client"],
  [{ api: {} }, "api"],
  [{ dispatcher: {} }, "dispatcher"],
  [{ dispatcher: {}, client: null }, "client"],
])("of the options %j, the caller's own connection is %s", (options, name) => {
  expect(ownConnection(options)).toBe(name);
});

test.each([
  ["http://127.0.0.1:8080/a", "127.0.0.1", true],
  ["http://[::1]:8080/", "::1", true],
  ["https://localhost", "localhost", true],
  ["https://op.example:8443", "op.example", false],
  ["https://[2001:db8::1]/", "2001:db8::1", false],
])("%s has the host %s, on this machine: %s", (url, host, isHere) => {
  expect([hostOf(new URL(url)), isOnLoopback(url)]).toEqual([host, isHere]);
});
