import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { programVersion } from "../../src/program/version.ts";
import type { ServeFlags } from "../../src/serve/command.ts";
import { runServe } from "../../src/serve/run.ts";
import type { KeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";
import { createServedFolder } from "./support/served-folder.ts";

// The life of a server in this process: what it says, what it serves, and what it leaves.

let folder: KeyFolder;
beforeAll(async () => void (folder = await createServedFolder()));
afterAll(() => folder[Symbol.asyncDispose]());

const ends: (() => Promise<unknown>)[] = [];
const listeners = process.listeners("SIGHUP");
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
  // A server keeps its listener to the end of its process.
  for (const each of process.listeners("SIGHUP")) if (!listeners.includes(each)) process.off("SIGHUP", each);
});

interface Running {
  readonly keySet: string;
  readonly admin: string;
  readonly printed: () => string;
  readonly allowed: readonly number[];
  readonly result: Promise<number>;
  readonly stop: () => Promise<number>;
}

async function start(flags: ServeFlags = {}): Promise<Running> {
  const ending = new AbortController();
  const recording = recordingContext(folder.path);
  const allowed: number[] = [];
  const context = { ...recording, signal: ending.signal, allowClosing: (ms: number) => void allowed.push(ms) };
  const result = runServe(context, { port: 0, adminPort: 0, json: true, ...flags });
  const stop = (): Promise<number> => {
    ending.abort();
    return result;
  };
  ends.push(stop);
  await expect.poll(recording.printed, { timeout: 60_000 }).toContain("publishes a");
  const [first = ""] = recording.printed().split("\n");
  const addresses = flags.json === false ? addressesIn(recording.printed()) : JSON.parse(first);
  return { ...addresses, printed: recording.printed, allowed, result, stop };
}

function addressesIn(text: string): Pick<Running, "keySet" | "admin"> {
  const [keySet = "", , admin = ""] = [...text.matchAll(/http:\S+/g)].map(([url]) => url);
  return { keySet, admin: admin.slice(0, -1) };
}

const logged = ({ printed }: Running): readonly Record<string, unknown>[] =>
  printed()
    .split("\n")
    .slice(1, -1)
    .map((line) => JSON.parse(line));

test("prints where it is, and logs what it publishes", async () => {
  const running = await start();
  const { keySet } = running;
  const [first = ""] = running.printed().split("\n");
  expect(JSON.parse(first)).toEqual({
    keySet: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/jwks$/),
    discovery: `${keySet}/discovery`,
    admin: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    pid: process.pid,
  });
  expect(logged(running).map(({ level, event, message }) => [level, event, message])).toEqual([
    ["info", "loaded", "loaded the configuration (start)"],
    ["info", "keys", "publishes a (active); cached for 1 hour"],
  ]);
});

test("prints a line for each address to people", async () => {
  const { printed, keySet, admin } = await start({ json: false });
  expect(printed().split("\n").slice(0, 3)).toEqual([
    `key set   ${keySet}`,
    `discovery ${keySet}/discovery`,
    `status    ${admin}/`,
  ]);
  expect(printed()).toMatch(/\n\d\d:\d\d:\d\dZ info {2}publishes a \(active\)/);
});

test("has a status page with its version and the name of its file", async () => {
  const { admin } = await start();
  const page = await (await fetch(`${admin}/`)).text();
  expect(page).toContain(programVersion());
  expect(page).toContain("signpost.config.json");
  expect(page).not.toContain(folder.path);
});

test("reads its file again on SIGHUP, and when it has changed", async () => {
  const running = await start();
  process.emit("SIGHUP");
  await expect.poll(() => logged(running).map(({ message }) => message)).toContain("loaded the configuration (signal)");
  await folder.write("other.json", "{}");
  const publicKey = await folder.addKey("new.pem");
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys: [{ keyId: "b", publicKey }] });
  await expect
    .poll(() => logged(running).map(({ message }) => message), { timeout: 60_000 })
    .toContain("loaded the configuration (change)");
  await expect
    .poll(() => logged(running).map(({ message }) => message), { timeout: 60_000 })
    .toContain("publishes b (active); cached for 1 hour");
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys: [{ keyId: "a", publicKey }] });
});

describe("at its end", () => {
  test("it closes both ports, ends with 0, and says so", async () => {
    const running = await start();
    expect(await running.stop()).toBe(0);
    for (const url of [running.keySet, running.admin]) {
      await expect(fetch(url)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
    }
    expect(
      logged(running)
        .map(({ event, message }) => [event, message])
        .slice(-2),
    ).toEqual([
      ["stopping", "accepts no more connections, then finishes its requests"],
      ["stopped", "finished its requests"],
    ]);
  });

  test.each<[flags: ServeFlags, ms: number]>([
    [{}, 12_000],
    [{ shutdownTimeout: 1 }, 3000],
    [{ shutdownDelay: 0.5, shutdownTimeout: 1 }, 3500],
  ])("with %j it may take a known time", async (flags, ms) => {
    const { allowed } = await start(flags);
    expect(allowed).toEqual([ms]);
  });

  test("it serves on for the delay, which it says", async () => {
    const running = await start({ shutdownDelay: 0.1 });
    expect(await running.stop()).toBe(0);
    expect(logged(running).at(-2)?.["message"]).toBe("serves for 0.1 s more, then finishes its requests");
  });
});

test("asked to end before it has keys, it ends at once, whatever its delay", async () => {
  const recording = recordingContext(folder.path);
  const context = { ...recording, signal: AbortSignal.abort() };
  expect(await runServe(context, { port: 0, adminPort: 0, json: true, shutdownDelay: 3600 })).toBe(0);
  const events = recording.printed().split("\n").slice(1, -1);
  expect(events.map((line) => JSON.parse(line).message)).toEqual([
    "accepts no more connections, then finishes its requests",
    "finished its requests",
  ]);
});

test("a second port that is in use frees the first one, and ends it", async () => {
  const { admin } = await start();
  const { port } = new URL(admin);
  const recording = recordingContext(folder.path);
  const servers = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length;
  const before = servers();
  await expect(runServe(recording, { port: 0, adminPort: Number(port) })).rejects.toMatchObject({
    code: "port_in_use",
    message: `--admin-port: another program uses port ${port}`,
  });
  expect(recording.printed()).toBe("");
  await expect.poll(servers, { timeout: 60_000 }).toBe(before);
});

test("a file that is missing, and one that cannot be served, end it before a port is open", async () => {
  const refused = (config: string): Promise<number> =>
    runServe(recordingContext(folder.path), { port: 0, adminPort: 0, config });
  await expect(refused("none.json")).rejects.toMatchObject({ code: "config_unreadable" });
  await folder.write("empty.json", { issuer: "https://op.example", keys: [] });
  await expect(refused("empty.json")).rejects.toMatchObject({ message: expect.stringMatching(/^empty\.json: keys: /) });
});
