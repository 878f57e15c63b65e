import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SignerError } from "@signpost/core";
import { onAbort } from "@signpost/core/adapter";
import type { PinTry } from "../pool/login-pins.ts";
import type { ChildKeyState, ToChild, ToParent } from "../wire/child-messages.ts";
import { compiledFile } from "../wire/compiled-file.ts";
import type { PinVerdict } from "../wire/pin-outcomes.ts";
import type { TokenName } from "../wire/token-name.ts";
import { fromWire, toWire, type WireError } from "../wire/wire-error.ts";
import { SessionsOfChild } from "./session-numbers.ts";
import { SilenceWatch } from "./silence-watch.ts";

type ToParentOf<Type extends ToParent["type"]> = Extract<ToParent, { type: Type }>;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** What the child asks of its parent, and what becomes of it. */
export interface ChildEvents {
  /** The PINs, by number, for logins in the child. */
  readonly pins: ChildLinkPins;
  /** No PIN is tried any more on the token of this key. */
  refused(key: number, error: WireError): void;
  /** The process is gone; `reason` says how, for people. */
  ended(reason: string): void;
}

/** What a child asks about PINs. */
export interface ChildLinkPins {
  take(number: number, token: TokenName): Promise<PinTry>;
  compare(number: number, token: TokenName, accepted: number | undefined): Promise<PinVerdict>;
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
/** What a process said last may be read after its exit, for this long. Milliseconds. */
const LAST_WORDS_MS = 500;
/** Not even killing ends a process inside a driver that does not come back. Then it is given up on. Milliseconds. */
const KILL_MS = 2_000;

/** The parent's end of one child process. */
export class ChildLink {
  readonly #process: ChildProcess;
  readonly #events: ChildEvents;
  readonly #calls: Map<number, Waiting> = new Map();
  readonly #states: Map<number, ChildKeyState> = new Map();
  /** PINs that the child has, by question, until it says what became of them. */
  readonly #tries: Map<number, PinTry> = new Map();
  #missedPin = false;
  /** What stands for the sessions of the process. */
  readonly sessions: SessionsOfChild = new SessionsOfChild();
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
    this.#process.on("disconnect", () => {
      if (this.#ended !== undefined) return this.#loseTries();
      setTimeout(() => this.kill("its channel broke"), STOP_MS).unref();
    });
  }

  /** Takes no calls any more: it has ended, or is about to. */
  get leaving(): boolean {
    return this.#leaving !== undefined || this.#ended !== undefined;
  }

  /** A login in it was given no PIN. */
  get missedPin(): boolean {
    return this.#missedPin;
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
      let settle = (): void => {};
      if (this.#calls.size === 0) this.#expect();
      this.#calls.set(call, {
        resolve: (value) => {
          settle();
          // It says no more about a key that is closed.
          if (input.type === "close") this.#states.delete(input.key);
          resolve(value);
        },
        reject: (error) => (settle(), reject(error)),
      });
      if (signal?.aborted !== true) settle = onAbort(signal, () => this.#send({ type: "abort", call }));
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
    // What it said last may be read after its exit. Then only what became of a PIN still counts.
    if (this.#ended !== undefined && message.type !== "pinOutcome") return;
    if (this.#ended === undefined) this.#silence.heard();
    switch (message.type) {
      case "answer":
        return this.#take(message.call)?.resolve(message.value);
      case "error":
        return this.#take(message.call)?.reject(fromWire(message.error));
      case "pin":
        return void this.#answerPin(message);
      case "pinOutcome":
        this.#tries.get(message.question)?.done(message.outcome);
        this.#tries.delete(message.question);
        return;
      case "comparePin":
        return void this.#answerComparison(message);
      case "state":
        this.#states.set(message.key, message.state);
        if (message.state.refusal !== undefined) this.#events.refused(message.key, message.state.refusal);
        return;
      case "hung":
        return this.retire("a call hung inside the module");
      case "alive":
    }
  }

  async #answerPin({ question, pin: number, token }: ToParentOf<"pin">): Promise<void> {
    try {
      const attempt = await this.#events.pins.take(number, token);
      // The process that could send it is gone.
      if (this.#ended !== undefined) return attempt.done("unknown");
      this.#tries.set(question, attempt);
      this.#send({ type: "pin", question, pin: attempt.pin, error: undefined });
    } catch (error) {
      this.#missedPin = true;
      this.#send({ type: "pin", question, pin: undefined, error: toWire(error) });
    }
  }

  async #answerComparison({ question, pin, token, accepted }: ToParentOf<"comparePin">): Promise<void> {
    try {
      const verdict = await this.#events.pins.compare(pin, token, accepted);
      this.#send({ type: "pinVerdict", question, verdict, error: undefined });
    } catch (error) {
      this.#send({ type: "pinVerdict", question, verdict: undefined, error: toWire(error) });
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
    if (this.#process.connected) setTimeout(() => this.#loseTries(), LAST_WORDS_MS).unref();
    else this.#loseTries();
    this.#events.ended(reason);
    this.#onExited();
  }

  /** Nothing more is heard of the PINs that it had. */
  #loseTries(): void {
    for (const attempt of this.#tries.values()) attempt.done("lost");
    this.#tries.clear();
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
