import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { outputOf, startProgram } from "./support/programs.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { type GuardedOptions, outcome, until } from "./support/signing.ts";

const at = useShimmedToken();

describe("more than one process or thread", () => {
  test("the processes of a cluster each sign for themselves", async () => {
    const child = startProgram("cluster.mjs", JSON.stringify({ ...at.base, sessions: 2 }));
    expect(JSON.parse(await outputOf(child))).toEqual({ made: [50, 50], own: 50, codes: [0, 0] });
  });

  test("a signer works inside a user's worker thread, with one in the main thread: the last one finalizes the module", async () => {
    const thread = await openInThread(at.base);
    const signer = await at.opener.open(at.base);
    expect(await outcome(signer)).toBe("signed");

    // The thread initialized the module. It is the main thread that closes last.
    thread.postMessage("close");
    expect(await once(thread, "message")).toEqual([{ closed: true }]);
    expect(at.shim.calls("C_Finalize")).toBe(0);
    expect(await outcome(signer)).toBe("signed");
    await signer.close();
    expect(at.shim.calls("C_Finalize")).toBe(1);
  });

  test("threads that open, sign and close at the same time never finalize under each other", async () => {
    // SoftHSM itself, which crashes when it is finalized under a call.
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
