import { EventEmitter } from "node:events";
import type { ForkOptions } from "node:child_process";
import { expect, onTestFinished, test, vi } from "vitest";
import { runInModule } from "../src/backends/pkcs11/module.ts";
import { recordingContext } from "./support/recording-context.ts";

// A task runs in a child, because a module may hang or end its process. The child here is a fake one.

class FakeChild extends EventEmitter {
  readonly sent: unknown[] = [];
  readonly options: ForkOptions;

  constructor(options: ForkOptions) {
    super();
    this.options = options;
  }

  send(message: unknown): void {
    this.sent.push(message);
  }
}

const children = vi.hoisted(() => [] as FakeChild[]);

vi.mock("node:child_process", async (importOriginal) => ({
  ...(await importOriginal<typeof import("node:child_process")>()),
  fork: (_path: string, options: ForkOptions) => {
    const child = new FakeChild(options);
    children.push(child);
    return child;
  },
}));

const PLACE = { module: "/usr/lib/module.so" };

function started() {
  children.length = 0;
  const timeouts: number[] = [];
  const over = new AbortController();
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    timeouts.push(ms);
    return over.signal;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const leaving = new AbortController();
  const context = { ...recordingContext("/"), signal: leaving.signal };
  const result = runInModule(PLACE as never, { task: "slots" } as never, context).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  const [child] = children;
  if (child === undefined) throw new Error("no child was started");
  return { child, result, timeouts, over, leaving };
}

const ENDED = {
  name: "CliError",
  code: "module_ended",
  message: "the PKCS#11 module ended its process, or did not answer",
};

test("it gets its task over the channel, and its answer is the result", async () => {
  const { child, result } = started();
  expect(child.sent).toEqual([{ ...PLACE, task: "slots" }]);
  expect(child.options).toMatchObject({ stdio: ["ignore", "ignore", "ignore", "ipc"], killSignal: "SIGKILL" });
  child.emit("message", { ok: true, value: [1, 2] });
  expect(await result).toEqual({ value: [1, 2] });
});

test("it has fifteen seconds, and ends with the command", () => {
  const { child, timeouts, over } = started();
  expect(timeouts).toEqual([15_000]);
  expect(child.options.signal?.aborted).toBe(false);
  over.abort();
  expect(child.options.signal?.aborted).toBe(true);
  const another = started();
  another.leaving.abort();
  expect(another.child.options.signal?.aborted).toBe(true);
});

test("its refusal is an error of the backend", async () => {
  const { child, result } = started();
  child.emit("message", { ok: false, code: "pin_incorrect", message: "the PIN is wrong" });
  expect(await result).toMatchObject({
    error: { name: "CliError", code: "pin_incorrect", message: "the PIN is wrong", exitCode: 3 },
  });
});

test.each<[what: string, end: (child: FakeChild) => void]>([
  ["ends without an answer", (child) => child.emit("exit", 139)],
  ["cannot be started, or is killed", (child) => child.emit("error", new Error("aborted"))],
])("a child that %s is an error", async (_what, end) => {
  const { child, result } = started();
  end(child);
  expect(await result).toMatchObject({ error: ENDED });
});
