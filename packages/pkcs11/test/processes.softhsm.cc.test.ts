import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { type GuardedOptions, outcome, until } from "./support/signing.ts";

/** Native calls of the programs take this long. Milliseconds. */
const NATIVE_CALL_MS = 600;
/** Beside the longest native call and two seconds, what a busy machine needs to end a process at all. Milliseconds. */
const SLACK_MS = 1_500;

const at = useShimmedToken();

function start(program: string, ...args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(`programs/${program}`, import.meta.url));
  return spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

async function outputOf(child: ChildProcess): Promise<string> {
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return output;
}

describe("the end of a process", () => {
  test.each([
    ["process.exit() with signatures in flight", "exit", "thread"],
    ["no work left and the signer still open", "natural", "thread"],
    ["close()", "close", "thread"],
    ["process.exit() with signatures in flight", "exit", "process"],
    ["no work left and the signer still open", "natural", "process"],
    ["close()", "close", "process"],
  ])("%s closes every session and finalises the module (%s, isolation: %s)", async (_name, ending, isolation) => {
    const child = start("sign-and-end.mjs", JSON.stringify({ ...at.base, isolation }), ending);
    const output = await outputOf(child);
    expect({ output, code: child.exitCode, signal: child.signalCode }).toEqual({
      output: "signed\n",
      code: 0,
      signal: null,
    });
    await until(() => at.shim.calls("C_Finalize") === 1);
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
    expect(at.shim.counter("openSessions")).toBe(0);
  });

  test("with slow signatures in flight comes within the longest native call and two seconds", async () => {
    const child = start("sign-and-end.mjs", JSON.stringify(at.base), "exit");
    await once(child.stdout ?? child, "data");
    at.shim.delay("C_Sign", NATIVE_CALL_MS);
    const before = performance.now();
    await once(child, "close");
    expect(performance.now() - before).toBeLessThan(NATIVE_CALL_MS + 2_000 + SLACK_MS);
    expect(child.exitCode).toBe(0);
  });

  test("with a hung signature comes within two seconds under isolation: process", async () => {
    at.shim.hang("C_Sign", 0);
    const child = start("sign-and-end.mjs", JSON.stringify({ ...at.base, isolation: "process" }), "exit");
    await once(child.stdout ?? child, "data");
    at.shim.hang("C_Sign", 100);
    const before = performance.now();
    await once(child, "close");
    expect(performance.now() - before).toBeLessThan(2_000 + SLACK_MS);
    expect(child.exitCode).toBe(0);
  });
});

describe("isolation: process", () => {
  test("a call that hangs costs the child its life, and the request succeeds in the next one", async () => {
    const signer = await at.opener.open({ ...at.base, isolation: "process" });
    at.shim.hang("C_Sign");
    expect(await outcome(signer)).toBe("signed");
    await until(() => signer.health().notes.some((note) => note.includes("started again after its end: a call hung")));
    await until(() => signer.health().status === "ready");
    expect(await outcome(signer)).toBe("signed");
  });

  test("a module that crashes takes the child with it and nobody else", async () => {
    const signer = await at.opener.open({ ...at.base, isolation: "process" });
    at.shim.set("crash", true);
    const failing = outcome(signer);
    await until(() => at.shim.calls("C_Sign") > 1);
    at.shim.set("crash", false);
    expect(["signed", "unavailable"]).toContain(await failing);
    await until(async () => (await outcome(signer)) === "signed");
    expect(signer.health().notes).toContainEqual(expect.stringMatching(/started again after its end: SIG/));
  });

  test("a module that crashes at once is started again less and less often", async () => {
    const signer = await at.opener.open({ ...at.base, isolation: "process", policy: { deadlineMs: 600 } });
    at.shim.set("crash", true);
    const end = performance.now() + 3_500;
    while (performance.now() < end) expect(["unavailable", "timeout"]).toContain(await outcome(signer));
    expect(signer.health().status).not.toBe("ready");
    // At once, after one second and after two more: each start makes one C_Sign, the proof of the key.
    expect(at.shim.calls("C_Sign")).toBeLessThanOrEqual(6);
    at.shim.set("crash", false);
    await until(async () => (await outcome(signer)) === "signed");
  });

  test("the same key must be there after a restart", async () => {
    await at.hsm.generateKey({ label: "moved", id: "3a" });
    const signer = await at.opener.open({ ...at.base, object: "moved", isolation: "process" });
    for (const type of ["privkey", "pubkey"]) await at.hsm.pkcs11Tool("--delete-object", "--type", type, "--id", "3a");
    await at.hsm.generateKey({ label: "moved", id: "3a" });
    at.shim.hang("C_Sign");
    await until(async () => (await outcome(signer)) === "wrong_key");
    expect(await outcome(signer)).toBe("wrong_key");
  });

  test("asks for the PIN again in each child, and a wrong one is final", async () => {
    let asked = 0;
    let pin = at.hsm.pin;
    const ask = async (): Promise<string> => {
      asked += 1;
      return pin;
    };
    const signer = await at.opener.open({ ...at.base, pin: ask, isolation: "process" });
    expect(asked).toBe(1);
    pin = "00000000";
    at.shim.hang("C_Sign");
    await until(async () => (await outcome(signer)) === "pin_incorrect");
    expect(await outcome(signer)).toBe("pin_incorrect");
    expect(asked).toBe(2);
  });

  test("a refused PIN is not tried again when another signer's call costs the child its life", async () => {
    const other = await at.hsm.addToken();
    await other.generateKey({ label: "k1", id: "01" });
    let asked = 0;
    let pin = at.hsm.pin;
    const ask = async (): Promise<string> => {
      asked += 1;
      return pin;
    };
    const refused = await at.opener.open({ ...at.base, pin: ask, isolation: "process" });
    const good = await at.opener.open({
      ...at.base,
      token: other.tokenLabel,
      pin: other.pin,
      object: "k1",
      isolation: "process",
    });
    pin = "00000000";
    at.shim.hang("C_Sign");
    await until(async () => (await outcome(refused)) === "pin_incorrect");
    await until(async () => (await outcome(good)) === "signed");
    at.shim.hang("C_Sign");
    await outcome(good);
    await until(async () => (await outcome(good)) === "signed");
    await until(() => good.health().status === "ready");
    expect(await outcome(refused)).toBe("pin_incorrect");
    expect(asked).toBe(2);
  });

  test("signers of one module share a child, and its errors keep their types", async () => {
    const first = await at.opener.open({ ...at.base, isolation: "process" });
    const second = await at.opener.open({ ...at.base, isolation: "process" });
    expect(await Promise.all([outcome(first), outcome(second)])).toEqual(["signed", "signed"]);
    await until(() => at.shim.counter("openSessions") === 4);
    expect(at.shim.calls("C_Initialize")).toBe(1 + 4);
    expect(second.health().notes).toEqual([]);
    await expect(at.opener.open({ ...at.base, object: "none", isolation: "process" })).rejects.toMatchObject({
      name: "SignerError",
      code: "key_not_found",
    });
    await first.close();
    expect(await outcome(second)).toBe("signed");
  });
});

describe("more than one process or thread", () => {
  test("the processes of a cluster each sign for themselves", async () => {
    const child = start("cluster.mjs", JSON.stringify({ ...at.base, sessions: 2 }));
    expect(JSON.parse(await outputOf(child))).toEqual({ made: [50, 50], own: 50, codes: [0, 0] });
  });

  test("a signer works inside a user's worker thread, beside one in the main thread: the last of them finalises the module", async () => {
    const thread = await openInThread(at.base);
    const signer = await at.opener.open(at.base);
    expect(await outcome(signer)).toBe("signed");

    // The thread initialised the module. It is the main thread that closes last.
    thread.postMessage("close");
    expect(await once(thread, "message")).toEqual([{ closed: true }]);
    expect(at.shim.calls("C_Finalize")).toBe(0);
    expect(await outcome(signer)).toBe("signed");
    await signer.close();
    expect(at.shim.calls("C_Finalize")).toBe(1);
  });

  test("threads that open, sign and close at the same time never finalise under each other", async () => {
    // SoftHSM itself, which crashes when it is finalised under a call.
    const options = { ...at.base, module: at.hsm.module, sessions: 2 };
    const threads = await Promise.all([openInThread(options), openInThread(options)]);
    const signed = threads.map(async (thread) => {
      thread.postMessage("cycle");
      const [{ outcomes }] = (await once(thread, "message")) as [{ outcomes: string[] }];
      return outcomes;
    });
    for (let round = 0; round < 4; round += 1) {
      const signer = await at.opener.open(options);
      expect(new Set(await Promise.all(Array.from({ length: 40 }, () => outcome(signer))))).toEqual(
        new Set(["signed"]),
      );
      await signer.close();
    }
    for (const outcomes of await Promise.all(signed)) expect(new Set(outcomes)).toEqual(new Set(["signed"]));
    for (const thread of threads) thread.postMessage("close");
    await Promise.all(threads.map((thread) => once(thread, "exit")));
  });

  test("a user's worker thread that exits with its signer open leaves the module in order", async () => {
    const thread = await openInThread(at.base);
    thread.postMessage("sign");
    const [{ outcomes }] = (await once(thread, "message")) as [{ outcomes: string[] }];
    expect(new Set(outcomes)).toEqual(new Set(["signed"]));
    thread.postMessage("leave");
    await once(thread, "exit");
    await until(() => at.shim.calls("C_Finalize") === 1);
    expect(at.shim.counter("openSessions")).toBe(0);
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  async function openInThread(options: GuardedOptions): Promise<Worker> {
    const program = new URL("programs/signing-thread.mjs", import.meta.url);
    const thread = new Worker(program, { workerData: { options }, execArgv: [] });
    expect(await once(thread, "message")).toEqual([{ open: true }]);
    return thread;
  }
});
