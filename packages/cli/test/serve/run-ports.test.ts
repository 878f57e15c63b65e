import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { CliError } from "../../src/program/cli-error.ts";
import type { ServeFlags } from "../../src/serve/command.ts";
import type { Listener, ListenerOptions } from "../../src/serve/http/listener.ts";
import { runServe } from "../../src/serve/run.ts";
import type { KeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";
import { createServedFolder } from "./support/served-folder.ts";

// How both ports are opened and closed, and what they tell, without a network.

const network = vi.hoisted(() => ({
  opened: [] as ListenerOptions[],
  events: [] as string[],
  refuse: (_options: ListenerOptions): void => undefined,
}));
vi.mock("../../src/serve/http/listener.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  listen: async (options: ListenerOptions): Promise<Listener> => {
    network.refuse(options);
    network.opened.push(options);
    const name = options.place.flags.port;
    return {
      origin: `http://127.0.0.1:${options.place.port}`,
      connections: () => 0,
      lastResponses: () => void network.events.push(`${name} last responses`),
      close: async (ms) => void network.events.push(`${name} close ${ms}`),
    };
  },
}));

let folder: KeyFolder;
beforeAll(async () => void (folder = await createServedFolder()));
afterAll(() => folder[Symbol.asyncDispose]());

const listeners = process.listeners("SIGHUP");
beforeEach(() => {
  network.opened.length = 0;
  network.events.length = 0;
  network.refuse = () => undefined;
});
afterEach(() => {
  // A server keeps its listener to the end of its process.
  for (const each of process.listeners("SIGHUP")) if (!listeners.includes(each)) process.off("SIGHUP", each);
});

/** Runs a server that is asked to end at once. */
async function served(flags: ServeFlags = {}) {
  const context = { ...recordingContext(folder.path), signal: AbortSignal.abort() };
  const outcome = await runServe(context, { json: true, maxConnections: 77, ...flags }).then(
    (code) => ({ code }),
    (error: unknown) => ({ error }),
  );
  return { code: undefined, error: undefined, ...outcome, printed: context.printed() };
}

test("each port has its place and its limit of connections", async () => {
  expect((await served({ port: 1, adminPort: 2, adminHost: "::1" })).code).toBe(0);
  expect(network.opened.map(({ place, maxConnections }) => [place.host, place.port, maxConnections])).toEqual([
    ["127.0.0.1", 1, 77],
    ["::1", 2, 200],
  ]);
});

test("at the end each response is the last one, requests are finished, and both ports are closed", async () => {
  await served({ shutdownTimeout: 3 });
  expect(network.events).toEqual([
    "--port last responses",
    "--port close 3000",
    "--port close 0",
    "--admin-port close 0",
  ]);
});

test("a route that throws is an error of the log, with its stack", async () => {
  const context = { ...recordingContext(folder.path), signal: AbortSignal.abort() };
  await runServe(context, { json: true });
  const [port] = network.opened;
  const before = context.printed();
  const error = new TypeError("a mistake");
  port?.onFailed(error);
  port?.onFailed(Object.assign(new Error("no stack"), { stack: undefined }));
  port?.onFailed("text");
  const lines = context.printed().slice(before.length).trim().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "error", event: "internal", message: error.stack },
    { level: "error", event: "internal", message: "no stack" },
    { level: "error", event: "internal", message: "failed" },
  ]);
});

describe("a second port that cannot be opened frees the first one", () => {
  const refused = (code: string): CliError => new CliError(2, code, "--admin-port: refused");

  test.each<[what: string, error: unknown, flags: ServeFlags, expected: object]>([
    ["and is told", refused("port_in_use"), { port: 1, adminPort: 2 }, { message: "--admin-port: refused" }],
    [
      "and is told as the first one, if it is that",
      refused("port_in_use"),
      { port: 1, adminPort: 1 },
      {
        exitCode: 2,
        code: "port_in_use",
        message: "--admin-port: it is the port of the key set too",
        hint: "Choose another port with --port or --admin-port",
        cause: expect.objectContaining({ message: "--admin-port: refused" }),
      },
    ],
    ["for another reason", refused("port_denied"), { port: 1, adminPort: 1 }, { message: "--admin-port: refused" }],
    ["by a mistake", new TypeError("a mistake"), { port: 1, adminPort: 1 }, { message: "a mistake" }],
  ])("%s", async (_what, error, flags, expected) => {
    network.refuse = ({ place }) => {
      if (place.flags.port === "--admin-port") throw error;
    };
    const { error: thrown, printed } = await served(flags);
    expect(thrown).toMatchObject(expected);
    expect([network.events, printed]).toEqual([["--port close 0"], ""]);
  });
});
