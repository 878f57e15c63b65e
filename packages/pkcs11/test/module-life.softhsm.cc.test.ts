import { once } from "node:events";
import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { finalize, initialize } from "./support/module-user.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { outcome, until } from "./support/signing.ts";

/** close() waits three seconds for a call that hangs, ten are what opening has. Milliseconds. */
const CLOSED_MS = 8_000;

const at = useShimmedToken(2);

/** A worker thread of a user's own. */
async function openInThread(): Promise<Worker> {
  const program = new URL("programs/signing-thread.mjs", import.meta.url);
  const thread = new Worker(program, { workerData: { options: at.base }, execArgv: [] });
  expect(await once(thread, "message")).toEqual([{ open: true }]);
  return thread;
}

async function ask(thread: Worker, command: string): Promise<unknown> {
  thread.postMessage(command);
  const [answer] = (await once(thread, "message")) as [unknown];
  return answer;
}

describe("a module that hangs", () => {
  test("in C_Finalize does not block closing, and the module is opened again once it has returned", async () => {
    const signer = await at.opener.open(at.base);
    at.shim.hang("C_Finalize");
    await signer.close();
    expect(at.shim.counter("hung")).toBe(1);
    await expect(at.opener.open(at.base)).rejects.toMatchObject({ name: "SignerError", code: "unavailable" });
    at.shim.release();
    await until(async () => {
      const again = await at.opener.open(at.base).catch(() => undefined);
      return again !== undefined && (await outcome(again)) === "signed";
    });
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
  });

  test("in C_OpenSession does not block closing for the whole time limit of opening", async () => {
    const signer = await at.opener.open({
      ...at.base,
      sessions: 1,
      policy: { attemptTimeoutMs: 2_000, deadlineMs: 2_000 },
    });
    at.shim.fail("C_Sign", 0xb3, { times: 1 });
    at.shim.hang("C_OpenSession");
    const signing = outcome(signer);
    await until(() => at.shim.counter("hung") === 1);
    const closed = await Promise.race([signer.close().then(() => true), delay(CLOSED_MS, false)]);
    at.shim.release();
    expect(closed).toBe(true);
    expect(await signing).not.toBe("signed");
  });

  test("in C_Initialize is undone when it returns after all", async () => {
    at.shim.hang("C_Initialize");
    await expect(at.opener.open({ ...at.base, openDeadlineMs: 30_000 })).rejects.toMatchObject({
      name: "SignerError",
      code: "timeout",
    });
    expect(at.shim.calls("C_Finalize")).toBe(0);
    at.shim.release();
    await until(() => at.shim.calls("C_Finalize") === 1);
    // Until nothing is left of it, an opening is told of the failed one.
    await until(async () => {
      const signer = await at.opener.open(at.base).catch(() => undefined);
      return signer !== undefined && (await outcome(signer)) === "signed";
    });
  });

  test("in C_GetSlotList costs one opening: the next one asks in another thread", async () => {
    const signer = await at.opener.open(at.base);
    at.shim.hang("C_GetSlotList");
    await expect(at.opener.open({ ...at.base, openDeadlineMs: 30_000 })).rejects.toMatchObject({
      name: "SignerError",
      code: "timeout",
    });
    expect(signer.health().status).toBe("down");
    const second = await at.opener.open(at.base);
    expect(await outcome(second)).toBe("signed");
    at.shim.release();
    await until(() => signer.health().status === "ready");
    await signer.close();
    await second.close();
    expect(at.shim.calls("C_Finalize")).toBe(1);
  });
});

describe("threads of one process", () => {
  test("that open and close a module as fast as they can never finalize it under each other", async () => {
    const threads = await Promise.all([openInThread(), openInThread(), openInThread()]);
    const answers = await Promise.all(threads.map((thread) => ask(thread, "churn")));
    expect(answers).toEqual(threads.map(() => ({ failures: [] })));
    await Promise.all(threads.map((thread) => ask(thread, "close")));
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
    expect(at.shim.counter("openSessions")).toBe(0);
  });

  test("that found a module initialized by other code agree on who owns it once that has finalized it", async () => {
    initialize(at.shim.module);
    const [thread, signer] = await Promise.all([openInThread(), at.opener.open(at.base)]);
    finalize(at.shim.module);
    await until(async () => (await outcome(signer)) === "signed" && signer.health().status === "ready");
    await until(async () => JSON.stringify(await ask(thread, "sign")).includes('"signed"'));
    // Which of the two logs in is left open: the other one's PIN is not proven then.
    expect(signer.health().notes.join()).not.toContain("initialized by other code");

    await signer.close();
    expect(at.shim.calls("C_Finalize")).toBe(1);
    await ask(thread, "close");
    expect(at.shim.calls("C_Finalize")).toBe(2);
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
  });

  test("finalize a module that one of them initialized again before another one got to its own failure", async () => {
    initialize(at.shim.module);
    const signer = await at.opener.open(at.base);
    const thread = await openInThread();
    const before = { begun: at.shim.calls("C_SignInit"), opened: at.shim.calls("C_OpenSession") };
    finalize(at.shim.module);
    const signing = outcome(signer);
    // This thread stands still from here on, with the answer "not initialized" waiting for it.
    while (!isSeen(() => at.shim.calls("C_SignInit") > before.begun)) await setImmediate();
    thread.postMessage("sign");
    expect(isSeen(() => at.shim.calls("C_OpenSession") > before.opened, 20_000)).toBe(true);
    await once(thread, "message");
    await signing;
    await until(async () => (await outcome(signer)) === "signed");

    await signer.close();
    expect(at.shim.calls("C_Finalize")).toBe(1);
    await ask(thread, "close");
    expect(at.shim.calls("C_Finalize")).toBe(2);
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
  });
});

/** Looks without a turn of the event loop. */
function isSeen(condition: () => boolean, limitMs = 100): boolean {
  const end = performance.now() + limitMs;
  while (!condition()) if (performance.now() > end) return false;
  return true;
}
