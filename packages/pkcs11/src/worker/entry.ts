// The program of a worker thread: it takes commands, one at a time, and returns results.
import { parentPort, workerData } from "node:worker_threads";
import type { CommandAnswer, CommandOutput, CommandRequest, Shutdown, ThreadData } from "../wire/commands.ts";
import { CELL, openMailbox } from "../wire/mailbox.ts";
import { createCommandRunner } from "./command-runner.ts";
import { toFailure } from "./failure.ts";
import { Inbox } from "./inbox.ts";
import { SleepWatch } from "./sleep-watch.ts";

const port = parentPort;
if (port !== null) {
  const { done, mailbox: memory } = workerData as ThreadData;
  const mailbox = openMailbox(memory);
  const run = createCommandRunner();
  const post = (answer: CommandAnswer): void => port.postMessage(answer);
  let received = 0;

  let watched = 0;
  const watch = new SleepWatch((slept) => {
    watched = (watched + 1) % 2 ** 16;
    Atomics.store(mailbox.cells, CELL.watched, 2 * watched + (slept ? 1 : 0));
  });
  const inbox = new Inbox(mailbox, {
    sign: (key, digest) => watch.during(() => run("sign", { key, digest }) as CommandOutput<"sign">),
    failed: (id, error) => post({ id, ok: false, failure: toFailure(error) }),
  });

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
    received = (received + 1) | 0;
    if ("shutdown" in message) return shutDown(message.finalize);
    const answered = answer(message);
    post(answered);
    // Where there was one signature, the next may follow soon.
    if (message.name === "sign" && answered.ok) inbox.serve(received);
  });
}
