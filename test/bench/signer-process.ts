import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { SignerOrder, SignerTask } from "./signer-program.ts";

/** A signer in another process. */
export interface SignerProcess {
  /** Resolves with the milliseconds that it took there. */
  sign(order: SignerOrder): Promise<number>;
  /** Stops the process as the machine would, until `thaw`. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

/** The process starts with its first order. */
export function signerProcess(task: SignerTask, environment: Readonly<Record<string, string>> = {}): SignerProcess {
  let running: ChildProcess | undefined;
  const start = (): ChildProcess =>
    (running ??= fork(new URL("./signer-program.js", import.meta.url), [JSON.stringify(task)], {
      env: { PATH: process.env["PATH"], ...environment },
    }));
  return {
    sign: async (order) => {
      const child = start();
      child.send(order);
      const [{ ms, error }] = (await once(child, "message")) as [{ ms?: number; error?: string }];
      if (ms === undefined) throw new Error(`the signer failed: ${error}`);
      return ms;
    },
    freeze: () => void running?.kill("SIGSTOP"),
    thaw: () => void running?.kill("SIGCONT"),
    stop: async () => {
      if (running === undefined) return;
      const exited = once(running, "exit");
      running.kill("SIGKILL");
      await exited;
    },
  };
}
