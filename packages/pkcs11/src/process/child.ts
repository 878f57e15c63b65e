// The file that the child process is started with: the thread backend, spoken to over the parent's channel.
import type { OpenKey } from "../backend.ts";
import type { PinSource } from "../pin.ts";
import { openThreadKey } from "../threads/open-key.ts";
import { type OpenedKey, type OpenInput, type ToChild, type ToParent, toWire } from "./messages.ts";

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
  const keys = new Map<number, OpenKey>();
  const states = new Map<number, string>();
  const questions = new Map<number, (pin: string | undefined) => void>();
  let calls = 0;
  let nextKey = 0;
  let nextQuestion = 0;
  let stopping = false;

  // The number tells equal PINs from others: the PIN itself is asked for when a login needs it.
  const pinSource = (pin: number): PinSource => ({
    identity: pin,
    read: async () => {
      const answer = await new Promise<string | undefined>((resolve) => {
        const question = nextQuestion++;
        questions.set(question, resolve);
        send({ type: "pin", question, pin });
      });
      if (answer === undefined) throw new Error("the parent process has no PIN");
      return answer;
    },
  });

  const open = async ({ pin, ...input }: OpenInput): Promise<OpenedKey> => {
    const opened = await openThreadKey({ ...input, pin: pinSource(pin) });
    const key = nextKey++;
    keys.set(key, opened);
    const { publicKey, token, label, id, sessions } = opened;
    return { key, publicKey, token, label, id, sessions };
  };

  const close = async (key: number): Promise<null> => {
    const opened = keys.get(key);
    keys.delete(key);
    states.delete(key);
    await opened?.close();
    return null;
  };

  const answer = async (call: number, value: Promise<unknown>): Promise<void> => {
    calls += 1;
    try {
      send({ type: "answer", call, value: await value });
    } catch (error) {
      send({ type: "error", call, error: toWire(error) });
    } finally {
      calls -= 1;
      reportStates();
    }
  };

  const sign = async (key: number, digest: Uint8Array): Promise<Uint8Array> => {
    const opened = keys.get(key);
    if (opened === undefined) throw new Error("no such key");
    return opened.sign(digest, undefined);
  };

  const reportStates = (): void => {
    for (const [key, opened] of keys) {
      const state = { status: opened.status(), notes: opened.notes() };
      const text = JSON.stringify(state);
      if (states.get(key) === text) continue;
      states.set(key, text);
      send({ type: "state", key, ...state });
    }
  };

  const tick = (): void => {
    if ([...keys.values()].some((key) => key.hanging() > 0)) send({ type: "hung" });
    reportStates();
    if (calls > 0) send({ type: "alive" });
  };

  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    // A thread that hangs inside the module keeps the process from ending in any other way.
    setTimeout(() => process.kill(process.pid, "SIGKILL"), STOP_MS);
    const open = [...keys.values()];
    await Promise.allSettled([...keys.keys()].map(close));
    // `exit` would wait for the thread that hangs, and stop the timer above with everything else.
    if (open.some((key) => key.hanging() > 0)) process.kill(process.pid, "SIGKILL");
    process.exit(0);
  };

  setInterval(tick, TICK_MS).unref();
  process.on("message", (message: ToChild) => {
    switch (message.type) {
      case "open":
        return void answer(message.call, open(message.input));
      case "sign":
        return void answer(message.call, sign(message.key, message.digest));
      case "close":
        return void answer(message.call, close(message.key));
      case "pin":
        questions.get(message.question)?.(message.pin);
        questions.delete(message.question);
        return;
      case "stop":
        return void stop();
    }
  });
  // The parent is gone, whatever became of it.
  process.on("disconnect", () => void stop());
  // Signals to the whole group are the parent's to act on: it may still have signatures to make.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
}
