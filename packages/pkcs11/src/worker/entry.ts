// The program of a worker thread: it takes commands, one at a time, and returns results.
import { parentPort, workerData } from "node:worker_threads";
import type { CommandRequest, CommandAnswer, Shutdown, ThreadData } from "../wire/commands.ts";
import { createCommandRunner } from "./command-runner.ts";
import { toFailure } from "./failure.ts";

const port = parentPort;
if (port !== null) {
  const { done } = workerData as ThreadData;
  const run = createCommandRunner();

  const answer = ({ id, name, input }: CommandRequest): CommandAnswer => {
    try {
      return { id, ok: true, output: run(name, input) };
    } catch (error) {
      return { id, ok: false, failure: toFailure(error) };
    }
  };

  // The process is exiting. No one reads an answer any more, and nothing here may delay the exit.
  const shutDown = (finalize: boolean): void => {
    try {
      run("finalize", { module: finalize });
    } catch {
      // The module is already gone.
    }
    Atomics.store(done, 0, 1);
    Atomics.notify(done, 0);
  };

  port.on("message", (message: CommandRequest | Shutdown) => {
    if ("shutdown" in message) shutDown(message.finalize);
    else port.postMessage(answer(message));
  });
}
