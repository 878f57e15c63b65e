import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { GuardedOptions } from "./signing.ts";

/** A worker thread of a user's own, with at most one signer. */
export interface OpeningThread {
  /** "opened", or the code of the error. */
  open(options: GuardedOptions & { readonly pin: string }): Promise<unknown>;
  /** What the source of its signer gives from now on. */
  setPin(pin: string): Promise<unknown>;
  notes(): Promise<unknown>;
  close(): Promise<unknown>;
  forget(): Promise<unknown>;
  /** Lets the thread end. Its signer is closed before. */
  end(): Promise<void>;
}

export function startOpeningThread(): OpeningThread {
  const thread = new Worker(new URL("../programs/opening-thread.mjs", import.meta.url), { execArgv: [] });
  const ask = async (name: string, values: object = {}): Promise<unknown> => {
    thread.postMessage({ name, ...values });
    const [answer] = (await once(thread, "message")) as [unknown];
    return answer;
  };
  return {
    open: (options) => ask("open", { options }),
    setPin: (pin) => ask("setPin", { pin }),
    notes: () => ask("notes"),
    close: () => ask("close"),
    forget: () => ask("forget"),
    end: async () => {
      await ask("close");
      thread.postMessage({ name: "end" });
      await once(thread, "exit");
    },
  };
}
