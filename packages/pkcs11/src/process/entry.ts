// The program of the child process: the thread backend, controlled over the parent's channel.
import { readThreadCertificates } from "../pool/read-certificates.ts";
import type { ToChild, ToParent } from "../wire/child-messages.ts";
import { ChildCalls } from "./child-calls.ts";
import { ChildKeys } from "./child-keys.ts";
import { ChildPins } from "./child-pins.ts";

/** How often a waiting parent gets a sign of life, and hung calls are looked for. Milliseconds. */
const TICK_MS = 250;
/** How long an orderly close may take before the process ends anyway. Milliseconds. */
const STOP_MS = 2_000;

if (process.send !== undefined) {
  runChild((message) => {
    // A parent that is gone reads nothing. This process stops when the channel ends.
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  });
}

function runChild(send: (message: ToParent) => void): void {
  const pins = new ChildPins(send);
  const keys = new ChildKeys(pins);
  const reportStates = (): void => {
    for (const { key, state } of keys.changes()) send({ type: "state", key, state });
  };
  const calls = new ChildCalls(send, reportStates);
  const tick = (): void => {
    if (calls.some) send({ type: "alive" });
    // States first, because the parent stops listening after a hang.
    reportStates();
    if (keys.hanging) send({ type: "hung" });
  };
  const stop = createStop(keys);

  setInterval(tick, TICK_MS).unref();
  process.on("message", (message: ToChild) => {
    switch (message.type) {
      case "open":
        return void calls.answer(message.call, () => keys.open(message.input));
      case "sign":
        return void calls.answer(message.call, (signal) => keys.sign(message.key, message.digest, signal));
      case "close":
        return void calls.answer(message.call, () => keys.close(message.key));
      case "certificates":
        return void calls.answer(message.call, () => readThreadCertificates(message.input));
      case "abort":
        return calls.abort(message.call);
      case "pin":
      case "pinVerdict":
        return pins.answered(message);
      case "stop":
        return void stop();
    }
  });
  // The parent is gone, for whatever reason.
  process.on("disconnect", () => void stop());
  leaveSignalsToParent();
}

/** Closes every key in order, then ends this process. Once. */
function createStop(keys: ChildKeys): () => Promise<void> {
  let stopping = false;
  return async () => {
    if (stopping) return;
    stopping = true;
    setTimeout(killSelf, STOP_MS);
    await keys.closeAll();
    // After the handlers that close signers still being opened. Otherwise the process would then wait for every thread,
    // even one that hangs inside the module, and nothing could end it.
    process.on("exit", killSelf);
    process.exit();
  };
}

function leaveSignalsToParent(): void {
  // Signals to the whole process group are for the parent to handle: it may still have signatures to make.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  // A normal Node exit waits for threads too.
  process.on("uncaughtException", (error) => {
    process.stderr.write(`${error.stack ?? String(error)}\n`, killSelf);
  });
}

function killSelf(): void {
  process.kill(process.pid, "SIGKILL");
}
