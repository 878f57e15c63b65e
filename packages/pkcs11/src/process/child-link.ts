import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ConfigurationError, SignerError } from "@signpost/core";
import type { ChildKeyState, ToChild, ToParent } from "../wire/child-messages.ts";
import { compiledFile } from "../wire/compiled-file.ts";
import { fromWire, toWire, type WireError } from "../wire/wire-error.ts";
import { SilenceWatch } from "./silence-watch.ts";

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** What the child asks of its parent, and what becomes of it. */
export interface ChildEvents {
  /** A login in the child needs the PIN with this number. */
  pin(number: number): Promise<string | undefined>;
  /** The token of this key has refused its PIN. */
  refused(key: number, error: WireError): void;
  /** The process is gone; `reason` says how, for people. */
  ended(reason: string): void;
}

type Command = Extract<ToChild, { type: "open" | "sign" | "close" }>;
/** A command without its number, each member of the union by itself. */
export type ChildCommand = Command extends infer Member
  ? Member extends Command
    ? Omit<Member, "call">
    : never
  : never;

/** A child that takes no more calls has this long for those under way. What takes longer hangs too. Milliseconds. */
const LAST_CALLS_MS = 2_000;
/** A child that was asked to stop, and has not, is killed. Milliseconds. */
const STOP_MS = 4_000;
/** Not even killing ends a process inside a driver that does not come back. Then it is given up on. Milliseconds. */
const KILL_MS = 2_000;

/** The parent's end of one child process. */
export class ChildLink {
  readonly #process: ChildProcess;
  readonly #events: ChildEvents;
  readonly #calls: Map<number, Waiting> = new Map();
  readonly #states: Map<number, ChildKeyState> = new Map();
  /** Resolves once the process is gone. */
  readonly exited: Promise<void>;
  #onExited: () => void = () => {};
  #nextCall = 0;
  readonly #silence = new SilenceWatch(() => this.kill("the child process went silent"));
  #ended: string | undefined;
  /** Why it is to end, once that is certain. */
  #leaving: string | undefined;

  /** @throws an error of the system, when it cannot even try to start a process. */
  constructor(events: ChildEvents) {
    this.#events = events;
    this.exited = new Promise((resolve) => (this.#onExited = resolve));
    // With the first child: 2 ms of a start, which threads do without.
    const { fork } = process.getBuiltinModule("node:child_process");
    this.#process = fork(fileURLToPath(compiledFile("child")), [], {
      serialization: "advanced",
      // What the module writes goes where its own would.
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      execArgv: [],
      env: childEnvironment(process.env),
    });
    this.#unref();
    this.#process.on("message", (message: ToParent) => this.#receive(message));
    this.#process.on("exit", (code, signal) => this.#end(this.#leaving ?? signal ?? `exit code ${code}`));
    this.#process.on("error", (error) => {
      // Also told of a message or a signal that could not be sent. Then the process may still be there.
      if (this.#process.pid === undefined) this.#end(error.message);
    });
    // Without the channel it is of no use. It ends by itself then, unless it is stuck.
    this.#process.on("disconnect", () => setTimeout(() => this.kill("its channel broke"), STOP_MS).unref());
  }

  /** Takes no calls any more: it has ended, or is about to. */
  get leaving(): boolean {
    return this.#leaving !== undefined || this.#ended !== undefined;
  }

  /** What it last said about a key. */
  state(key: number): ChildKeyState | undefined {
    return this.#states.get(key);
  }

  /** Rejects with `unavailable` when the process ends before it has answered. */
  call(input: ChildCommand, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(gone(this.#ended));
      const call = this.#nextCall++;
      const onAbort = (): void => this.#send({ type: "abort", call });
      const settle = (): void => signal?.removeEventListener("abort", onAbort);
      if (this.#calls.size === 0) this.#expect();
      this.#calls.set(call, {
        resolve: (value) => (settle(), resolve(value)),
        reject: (error) => (settle(), reject(error)),
      });
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#send({ ...input, call }, (cause) => this.#take(call)?.reject(notSent(cause)));
    });
  }

  /** No more calls. Those under way get a moment. */
  retire(reason: string): void {
    if (this.leaving) return;
    this.#leaving = reason;
    if (this.#calls.size === 0) return this.kill(reason);
    setTimeout(() => this.kill(reason), LAST_CALLS_MS).unref();
  }

  kill(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#leaving ??= reason;
    // Whoever waits for its end waits for this process too.
    this.#process.ref();
    this.#process.kill("SIGKILL");
    setTimeout(() => this.#end(reason), KILL_MS).unref();
  }

  /** Closes everything in order, or ends it. */
  async stop(): Promise<void> {
    this.#send({ type: "stop" });
    const timer = setTimeout(() => this.kill("stopped"), STOP_MS);
    this.#process.ref();
    await this.exited;
    clearTimeout(timer);
  }

  #send(message: ToChild, failed: (error: Error) => void = () => {}): void {
    // Without a channel it is about to end, and its exit tells everybody.
    if (!this.#process.connected) return;
    this.#process.send(message, (error) => {
      if (error !== null) failed(error);
    });
  }

  #receive(message: ToParent): void {
    // What it said last may be read after its exit.
    if (this.#ended !== undefined) return;
    this.#silence.heard();
    switch (message.type) {
      case "answer":
        return this.#take(message.call)?.resolve(message.value);
      case "error":
        return this.#take(message.call)?.reject(fromWire(message.error));
      case "pin":
        return void this.#answerPin(message.question, message.pin);
      case "state":
        this.#states.set(message.key, message.state);
        if (message.state.refusal !== undefined) this.#events.refused(message.key, message.state.refusal);
        return;
      case "hung":
        return this.retire("a call hung inside the module");
      case "alive":
    }
  }

  async #answerPin(question: number, number: number): Promise<void> {
    try {
      this.#send({ type: "pin", question, pin: await this.#events.pin(number), error: undefined });
    } catch (cause) {
      const error = cause instanceof ConfigurationError ? toWire(cause) : undefined;
      this.#send({ type: "pin", question, pin: undefined, error });
    }
  }

  #take(call: number): Waiting | undefined {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (this.#calls.size > 0) return waiting;
    this.#unref();
    if (this.#leaving !== undefined) this.kill(this.#leaving);
    return waiting;
  }

  /** An answer is awaited: the process may not end by itself, and the child has to show that it is alive. */
  #expect(): void {
    this.#process.ref();
    this.#process.channel?.ref();
    this.#silence.start();
  }

  #unref(): void {
    this.#silence.stop();
    this.#process.unref();
    this.#process.channel?.unref();
  }

  #end(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#unref();
    for (const waiting of this.#calls.values()) waiting.reject(gone(reason));
    this.#calls.clear();
    this.#events.ended(reason);
    this.#onExited();
  }
}

/** Loaders, inspectors and coverage belong to the application. All else is the module's, which has settings there. */
function childEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...environment, NODE_OPTIONS: undefined, NODE_V8_COVERAGE: undefined };
}

function notSent(cause: Error): SignerError {
  return new SignerError("unavailable", "the child process that holds the module could not be reached", { cause });
}

function gone(reason: string): SignerError {
  return new SignerError("unavailable", `the child process that holds the module ended: ${reason}`);
}
