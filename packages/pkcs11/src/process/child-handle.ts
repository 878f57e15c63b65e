import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SignerError } from "@signpost/core";
import { compiledFile } from "../compiled-file.ts";
import { fromWire, type ToChild, type ToParent } from "./messages.ts";

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface ChildEvents {
  /** A login in the child needs the PIN with this number. */
  pin(number: number): Promise<string | undefined>;
  state(message: Extract<ToParent, { type: "state" }>): void;
  /** The process is gone; `reason` says how, for people. */
  ended(reason: string): void;
}

type Command = ToChild & { readonly call: number };
/** A command without its number, each member of the union by itself. */
export type CommandInput = Command extends infer Member
  ? Member extends Command
    ? Omit<Member, "call">
    : never
  : never;

/** While calls are under way the child speaks four times a second. Silence this long: it is stopped or stuck. Milliseconds. */
const SILENCE_MS = 5_000;
/** A child that was asked to stop, and has not, is killed. Milliseconds. */
const STOP_MS = 4_000;

/** The parent's end of one child process. */
export class Child {
  readonly #process: ChildProcess;
  readonly #events: ChildEvents;
  readonly #calls: Map<number, Waiting> = new Map();
  readonly #exited: Promise<void>;
  #nextCall = 0;
  #lastHeard = 0;
  #watch: NodeJS.Timeout | undefined;
  #ended: string | undefined;
  #killed: string | undefined;

  constructor(events: ChildEvents) {
    this.#events = events;
    this.#process = fork(fileURLToPath(compiledFile("child")), [], {
      serialization: "advanced",
      // Loaders and inspectors belong to the application. What the module writes goes where its own would.
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#unref();
    this.#process.on("message", (message: ToParent) => this.#receive(message));
    this.#exited = new Promise((resolve) => {
      this.#process.on("error", (error) => this.#end(error.message, resolve));
      this.#process.on("exit", (code, signal) => this.#end(this.#killed ?? signal ?? `exit code ${code}`, resolve));
    });
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Rejects with `unavailable` when the process ends before it has answered. */
  call(input: CommandInput): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(gone(this.#ended));
      const call = this.#nextCall++;
      if (this.#calls.size === 0) this.#expect();
      this.#calls.set(call, { resolve, reject });
      this.#send({ ...input, call } as ToChild);
    });
  }

  kill(reason: string): void {
    this.#killed ??= reason;
    this.#process.kill("SIGKILL");
  }

  /** Closes everything in order, or ends it. */
  async stop(): Promise<void> {
    this.#send({ type: "stop" });
    const timer = setTimeout(() => this.kill("stopped"), STOP_MS);
    this.#process.ref();
    await this.#exited;
    clearTimeout(timer);
  }

  #send(message: ToChild): void {
    // An error here is the end of the process, which is told by its exit.
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  #receive(message: ToParent): void {
    this.#lastHeard = performance.now();
    switch (message.type) {
      case "answer":
        return this.#take(message.call)?.resolve(message.value);
      case "error":
        return this.#take(message.call)?.reject(fromWire(message.error));
      case "pin":
        return void this.#answerPin(message.question, message.pin);
      case "state":
        return this.#events.state(message);
      case "hung":
        return this.kill("a call hung inside the module");
      case "alive":
    }
  }

  async #answerPin(question: number, number: number): Promise<void> {
    const pin = await this.#events.pin(number).catch(() => undefined);
    this.#send({ type: "pin", question, pin });
  }

  #take(call: number): Waiting | undefined {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#unref();
    return waiting;
  }

  /** An answer is awaited: the process may not end by itself, and the child has to show that it is alive. */
  #expect(): void {
    this.#process.ref();
    this.#process.channel?.ref();
    this.#lastHeard = performance.now();
    this.#watch = setInterval(() => {
      if (performance.now() - this.#lastHeard > SILENCE_MS) this.kill("the child process went silent");
    }, SILENCE_MS / 5).unref();
  }

  #unref(): void {
    clearInterval(this.#watch);
    this.#process.unref();
    this.#process.channel?.unref();
  }

  #end(reason: string, exited: () => void): void {
    exited();
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    clearInterval(this.#watch);
    for (const waiting of this.#calls.values()) waiting.reject(gone(reason));
    this.#calls.clear();
    this.#events.ended(reason);
  }
}

function gone(reason: string): SignerError {
  return new SignerError("unavailable", `the child process that holds the module ended: ${reason}`);
}
