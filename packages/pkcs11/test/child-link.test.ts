import { EventEmitter, getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import type { PinTry } from "../src/pool/login-pins.ts";
import { ChildLink } from "../src/process/child-link.ts";

/** What the system does to a process that is started, its messages and its signals. */
class FaultyProcess extends EventEmitter {
  pid: number | undefined = 1;
  connected = true;
  readonly sent: { readonly type: string; readonly call: number }[] = [];
  unreachable = false;

  send(message: { readonly type: string; readonly call: number }, done: (error: Error | null) => void): void {
    if (!this.unreachable) this.sent.push(message);
    done(this.unreachable ? new Error("EAGAIN") : null);
  }
  kill(): boolean {
    this.emit("error", new Error("kill EPERM"));
    return false;
  }
  ref(): void {}
  unref(): void {}
}

const never = async (): Promise<never> => {
  throw new Error("not asked");
};

function start(
  take: () => Promise<PinTry> = never,
  process: FaultyProcess = new FaultyProcess(),
): {
  readonly child: ChildLink;
  readonly process: FaultyProcess;
  readonly ended: string[];
} {
  vi.spyOn(globalThis.process, "getBuiltinModule").mockReturnValueOnce({ fork: () => process });
  const ended: string[] = [];
  const child = new ChildLink({
    pins: { take, compare: never },
    refused: () => {},
    ended: (reason) => ended.push(reason),
  });
  return { child, process, ended };
}

const close = { type: "close", key: 0 } as const;

describe("a child process", () => {
  test("that could not be started has ended", async () => {
    const { child, process, ended } = start();
    const call = child.call(close);
    process.pid = undefined;
    process.emit("error", new Error("spawn EAGAIN"));
    await expect(call).rejects.toMatchObject({ code: "unavailable" });
    await child.exited;
    expect(ended).toEqual(["spawn EAGAIN"]);
    await expect(child.call(close)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("that Deno may not start has ended too", async () => {
    class NotStarted extends FaultyProcess {
      override pid = undefined;
      override connected = false;
      override ref(): never {
        throw new TypeError("Cannot read properties of undefined (reading 'ref')");
      }
      override unref(): never {
        throw new TypeError("Cannot read properties of undefined (reading 'unref')");
      }
    }
    const { child, process, ended } = start(never, new NotStarted());
    const call = child.call(close);
    process.emit("error", new Error("Requires run access"));
    await expect(call).rejects.toMatchObject({ code: "unavailable" });
    await child.stop();
    expect(ended).toEqual(["Requires run access"]);
  });

  test("is told of each call that a shared signal ends, by one listener", async () => {
    const { child, process } = start();
    const leaving = new AbortController();
    const calls = Array.from({ length: 50 }, () => child.call(close, leaving.signal).catch(() => {}));
    expect(getEventListeners(leaving.signal, "abort")).toHaveLength(1);
    leaving.abort();
    expect(process.sent.filter(({ type }) => type === "abort").map(({ call }) => call)).toEqual(
      process.sent.filter(({ type }) => type === "close").map(({ call }) => call),
    );
    process.emit("exit", 1, null);
    await Promise.all(calls);
    expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
  });

  test("keeps nothing of a key that it has closed, however long it lives", async () => {
    const { child, process } = start();
    process.emit("message", { type: "state", key: 0, state: { status: "ready", notes: [], refusal: undefined } });
    expect(child.state(0)).toMatchObject({ status: "ready" });
    const call = child.call(close);
    process.emit("message", { type: "answer", call: process.sent[0]?.call, value: null });
    await call;
    expect(child.state(0)).toBeUndefined();
  });

  test("that a message does not reach fails that call alone", async () => {
    const { child, process, ended } = start();
    const first = child.call(close);
    process.unreachable = true;
    await expect(child.call(close)).rejects.toMatchObject({ code: "unavailable" });
    process.unreachable = false;
    process.emit("message", { type: "answer", call: process.sent[0]?.call, value: null });
    expect(await first).toBeNull();
    expect(ended).toEqual([]);
  });

  test("that cannot be killed stays, with its calls, until it has gone", async () => {
    const { child, process, ended } = start();
    const call = child.call(close);
    child.kill("in the test");
    expect([child.leaving, ended]).toEqual([true, []]);
    process.emit("message", { type: "answer", call: process.sent[0]?.call, value: null });
    expect(await call).toBeNull();
    process.emit("exit", null, "SIGKILL");
    await child.exited;
    expect(ended).toEqual(["in the test"]);
  });

  test("that not even SIGKILL ends is given up on", async () => {
    const { child, ended } = start();
    const call = child.call(close);
    child.kill("in a driver");
    await expect(call).rejects.toMatchObject({ code: "unavailable" });
    expect(ended).toEqual(["in a driver"]);
  });

  test("is ignored after its end, because the next one reuses the numbers of its keys", async () => {
    const { child, process } = start();
    process.emit("exit", null, "SIGSEGV");
    process.emit("message", { type: "state", key: 0, state: { status: "down", notes: [], refusal: undefined } });
    expect(child.state(0)).toBeUndefined();
  });
});

describe("a PIN that a child process has", () => {
  async function endDuringLogin() {
    const outcomes: string[] = [];
    const { process } = start(async () => ({ pin: "1234", done: (outcome) => outcomes.push(outcome) }));
    process.emit("message", { type: "pin", question: 0, pin: 0, token: { label: "op", serial: "1" } });
    await vi.waitFor(() => expect(process.sent).toHaveLength(1));
    process.emit("exit", null, "SIGKILL");
    return { process, outcomes };
  }

  test("is lost with the process", async () => {
    const { process, outcomes } = await endDuringLogin();
    expect(outcomes).toEqual([]);
    process.connected = false;
    process.emit("disconnect");
    expect(outcomes).toEqual(["lost"]);
  });

  test("is lost soon after the process, if its channel stays open", async () => {
    const { outcomes } = await endDuringLogin();
    await vi.waitFor(() => expect(outcomes).toEqual(["lost"]));
  });

  test("is not lost when its outcome is read after the exit", async () => {
    const { process, outcomes } = await endDuringLogin();
    process.emit("message", { type: "pinOutcome", question: 0, outcome: "refused" });
    process.emit("disconnect");
    expect(outcomes).toEqual(["refused"]);
  });
});
