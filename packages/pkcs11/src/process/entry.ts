// The file that the child process is started with: the thread backend, spoken to over the parent's channel.
import type { ToChild, ToParent } from "../wire/child-messages.ts";
import { toWire } from "../wire/wire-error.ts";
import { ChildKeys } from "./child-keys.ts";
import { createPinQuestions } from "./child-pins.ts";

/** How often a parent that waits is told that somebody is there, and hung calls are looked for. Milliseconds. */
const TICK_MS = 250;
/** How long closing in order may take before the process ends anyway. Milliseconds. */
const STOP_MS = 2_000;

if (process.send !== undefined) {
  runChild((message) => {
    // A parent that is gone reads nothing; the end of the channel is what stops this process.
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  });
}

function runChild(send: (message: ToParent) => void): void {
  const pins = createPinQuestions(send);
  const keys = new ChildKeys(pins);
  const calls = new Map<number, AbortController>();
  let stopping = false;

  const answer = async (call: number, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
    const aborting = new AbortController();
    calls.set(call, aborting);
    try {
      send({ type: "answer", call, value: await work(aborting.signal) });
    } catch (error) {
      send({ type: "error", call, error: toWire(error) });
    } finally {
      calls.delete(call);
      reportStates();
    }
  };

  const reportStates = (): void => {
    for (const { key, state } of keys.changes()) send({ type: "state", key, state });
  };

  const tick = (): void => {
    if (calls.size > 0) send({ type: "alive" });
    // States first: a hang is the last that the parent listens to.
    reportStates();
    if (keys.hanging) send({ type: "hung" });
  };

  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(killSelf, STOP_MS);
    await keys.closeAll();
    // Behind the handlers that close what is still being opened. After them the process would wait for every thread, one
    // that hangs inside the module included, and nothing could end it any more.
    process.on("exit", killSelf);
    process.exit();
  };

  setInterval(tick, TICK_MS).unref();
  process.on("message", (message: ToChild) => {
    switch (message.type) {
      case "open":
        return void answer(message.call, () => keys.open(message.input));
      case "sign":
        return void answer(message.call, (signal) => keys.sign(message.key, message.digest, signal));
      case "close":
        return void answer(message.call, () => keys.close(message.key));
      case "abort":
        return calls.get(message.call)?.abort();
      case "pin":
        return pins.answered(message);
      case "stop":
        return void stop();
    }
  });
  // The parent is gone, whatever became of it.
  process.on("disconnect", () => void stop());
  // Signals to the whole group are the parent's to act on: it may still have signatures to make.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  // Node's own end of a process waits for its threads too.
  process.on("uncaughtException", (error) => {
    process.stderr.write(`${error.stack ?? String(error)}\n`, killSelf);
  });
}

function killSelf(): void {
  process.kill(process.pid, "SIGKILL");
}
