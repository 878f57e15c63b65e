import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchEndings, type Endings } from "../src/program/endings.ts";

type Listener = (error?: object) => void;
const listeners = new Map<string, Listener>();
const exit = vi.fn<(code: number) => void>();
const kill = vi.fn<(pid: number, signal: string) => void>();
const removed = vi.fn<(signal: string) => void>();
let written: string;
let endings: Endings;

/** Takes down the listeners in place of adding them, for `process`, stdout and stderr. */
function listensAs(prefix: string) {
  return (name: string, listener: Listener) => {
    listeners.set(`${prefix}${name}`, listener);
    return process as never;
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  listeners.clear();
  for (const mock of [exit, kill, removed]) mock.mockReset();
  written = "";
  vi.spyOn(process, "on").mockImplementation(listensAs("") as never);
  vi.spyOn(process.stdout, "on").mockImplementation(listensAs("stdout "));
  vi.spyOn(process.stderr, "on").mockImplementation(listensAs("stderr "));
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    written += String(text);
    return true;
  });
  vi.spyOn(process, "exit").mockImplementation(exit as never);
  vi.spyOn(process, "kill").mockImplementation(kill as never);
  vi.spyOn(process, "removeAllListeners").mockImplementation(removed as never);
  endings = watchEndings();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  process.exitCode = undefined;
});

const happens = (name: string, error?: object): void => listeners.get(name)?.(error);

test("nothing has ended a command at its beginning", () => {
  expect([endings.signal.aborted, endings.exitCode()]).toEqual([false, undefined]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
])("%s aborts the signal, and after two seconds it ends the program with what shells report as %i", (signal, code) => {
  happens(signal);
  expect([endings.signal.aborted, endings.exitCode()]).toEqual([true, code]);
  vi.advanceTimersByTime(1999);
  expect(kill).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  // Without listeners, so that the shell sees the signal.
  expect(removed).toHaveBeenCalledExactlyOnceWith(signal);
  expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, signal);
  expect(exit).not.toHaveBeenCalled();
});

test("a second Ctrl-C ends the program at once", () => {
  happens("SIGINT");
  expect(kill).not.toHaveBeenCalled();
  happens("SIGINT");
  expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, "SIGINT");
});

test("a prompt that reads Ctrl-C itself does what the signal does", () => {
  endings.interrupt();
  expect([endings.signal.aborted, endings.exitCode()]).toEqual([true, 130]);
});

test("a command may take more time to close", () => {
  endings.allowClosing(12_000);
  happens("SIGTERM");
  vi.advanceTimersByTime(11_999);
  expect(kill).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, "SIGTERM");
});

test("the time to close keeps no program running", () => {
  const timer = vi.spyOn(globalThis, "setTimeout");
  happens("SIGINT");
  expect(timer.mock.results[0]?.value.hasRef()).toBe(false);
});

test("a reader of stdout that went away ends the command without a failure or a word", () => {
  happens("stdout error", { code: "EPIPE" });
  expect([endings.signal.aborted, endings.exitCode(), written, process.exitCode]).toEqual([true, 0, "", undefined]);
  vi.advanceTimersByTime(2000);
  expect(exit).toHaveBeenCalledExactlyOnceWith(0);
});

test("a stdout that cannot be written is named, and is a mistake of usage", () => {
  happens("stdout error", { code: "ENOSPC" });
  expect([endings.signal.aborted, endings.exitCode(), process.exitCode]).toEqual([true, 2, 2]);
  expect(written).toBe("error stdout: cannot be written (ENOSPC)\n");
  vi.advanceTimersByTime(2000);
  expect(exit).toHaveBeenCalledExactlyOnceWith(2);
});

test.each(["EPIPE", "ENOSPC"])("after Ctrl-C, stdout with %s changes nothing", (code) => {
  happens("SIGINT");
  happens("stdout error", { code });
  expect([endings.exitCode(), written, process.exitCode]).toEqual([130, "", undefined]);
  expect(exit).not.toHaveBeenCalled();
});

test("the work goes on without a reader for messages", () => {
  happens("stderr error", { code: "EPIPE" });
  expect([listeners.has("stderr error"), endings.signal.aborted]).toEqual([true, false]);
});
