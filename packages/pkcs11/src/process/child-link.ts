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

/** What the child asks of its parent, and reports to it. */
export interface ChildEvents {
  /** The PINs, by number, for logins in the child. */
  readonly pins: ChildLinkPins;
  /** No PIN is tried any more on the token of this key. */
  refused(key: number, error: WireError): void;
  /** The process is gone; `reason` says how. */
  ended(reason: string): void;
}

/** What a child asks about PINs. */
export interface ChildLinkPins {
  take(number: number, token: TokenName): Promise<PinTry>;
  compare(number: number, token: TokenName, accepted: number | undefined): Promise<PinVerdict>;
}

type Command = Extract<ToChild, { type: "open" | "sign" | "close" | "certificates" }>;
/** A command without its number, separately for each member of the union. */
export type ChildCommand = Command extends infer Member
  ? Member extends Command
    ? Omit<Member, "call">
    : never
  : never;

/** How long the running calls may take in a child that accepts no more calls. A longer one hangs too. Milliseconds. */
const LAST_CALLS_MS = 2_000;
/** A child that was asked to stop and has not done so in this time is killed. Milliseconds. */
const STOP_MS = 4_000;
/** How long after a process's exit its last messages may still be read. Milliseconds. */
const LAST_WORDS_MS = 500;
/** Even a kill does not end a process inside a driver that does not return. After this time it is given up on. Milliseconds. */
const KILL_MS = 2_000;

/** The parent's end of one child process. */
export class ChildLink {
  readonly #process: ChildProcess;
  readonly #events: ChildEvents;
  readonly #calls: Map<number, Waiting> = new Map();
  readonly #states: Map<number, ChildKeyState> = new Map();
  /** PINs that the child has, by question, until it reports their outcome. */
  readonly #tries: Map<number, PinTry> = new Map();
  #missedPin = false;
  /** Objects that represent the sessions of the process. */
  readonly sessions: SessionsOfChild = new SessionsOfChild();
  /** Resolves once the process is gone. */
  readonly exited: Promise<void>;
  #onExited: () => void = () => {};
  #nextCall = 0;
  readonly #silence = new SilenceWatch(() => this.kill("the child process went silent"));
  #ended: string | undefined;
  /** Why it will end, once that is certain. */
  #leaving: string | undefined;

  /** @throws a system error if the process cannot even be started. */
  constructor(events: ChildEvents) {
    this.#events = events;
    this.exited = new Promise((resolve) => (this.#onExited = resolve));
    // Loaded with the first child: it takes 2 ms, which threads do not need.
    const { fork } = process.getBuiltinModule("node:child_process");
    this.#process = fork(fileURLToPath(compiledFile("child")), [], {
      serialization: "advanced",
      // The module's output goes to the same place as this process's.
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      execArgv: [],
      env: childEnvironment(process.env),
    });
    this.#unref();
    this.#process.on("message", (message: ToParent) => this.#receive(message));
    this.#process.on("exit", (code, signal) => this.#end(this.#leaving ?? signal ?? `exit code ${code}`));
    this.#process.on("error", (error) => {
      // Also emitted for a message or a signal that could not be sent. The process may still be there.
      if (this.#process.pid === undefined) this.#end(error.message);
    });
    // The child is useless without the channel. It then ends by itself, unless it is stuck.
    this.#process.on("disconnect", () => {
      if (this.#ended !== undefined) return this.#loseTries();
      setTimeout(() => this.kill("its channel broke"), STOP_MS).unref();
    });
  }

  /** Accepts no more calls: it has ended, or is about to. */
  get leaving(): boolean {
    return this.#leaving !== undefined || this.#ended !== undefined;
  }

  /** A login in it was given no PIN. */
  get missedPin(): boolean {
    return this.#missedPin;
  }

  /** The last state that it reported for a key. */
  state(key: number): ChildKeyState | undefined {
    return this.#states.get(key);
  }

  /** Rejects with `unavailable` if the process ends before it has answered. */
  call(input: ChildCommand, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(gone(this.#ended));
      const call = this.#nextCall++;
      let settle = (): void => {};
      if (this.#calls.size === 0) this.#expect();
      this.#calls.set(call, {
        resolve: (value) => {
          settle();
          // It reports nothing more about a closed key.
          if (input.type === "close") this.#states.delete(input.key);
          resolve(value);
        },
        reject: (error) => (settle(), reject(error)),
      });
      if (signal?.aborted !== true) settle = onAbort(signal, () => this.#send({ type: "abort", call }));
      this.#send({ ...input, call }, (cause) => this.#take(call)?.reject(notSent(cause)));
    });
  }

  /** Accepts no more calls. Running calls get a little time. */
  retire(reason: string): void {
    if (this.leaving) return;
    this.#leaving = reason;
    if (this.#calls.size === 0) return this.kill(reason);
    setTimeout(() => this.kill(reason), LAST_CALLS_MS).unref();
  }

  kill(reason: string): void {
    if (this.#ended !== undefined) return;
    this.#leaving ??= reason;
    // Code that waits for its end also waits for this process.
    this.#keepAlive("ref");
    this.#process.kill("SIGKILL");
    setTimeout(() => this.#end(reason), KILL_MS).unref();
  }

  /** Closes everything in order, or ends it. */
  async stop(): Promise<void> {
    this.#send({ type: "stop" });
    const timer = setTimeout(() => this.kill("stopped"), STOP_MS);
    this.#keepAlive("ref");
    await this.exited;
    clearTimeout(timer);
  }

  #send(message: ToChild, failed: (error: Error) => void = () => {}): void {
    // Without a channel it is about to end, and its exit informs every caller.
    if (!this.#process.connected) return;
    this.#process.send(message, (error) => {
      if (error !== null) failed(error);
    });
  }

  #receive(message: ToParent): void {
    // Its last messages may be read after its exit. Then only the outcome of a PIN still counts.
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

  /** A call is running: this process may not exit by itself, and the child must show that it is alive. */
  #expect(): void {
    this.#keepAlive("ref");
    refChannel(this.#process, "ref");
    this.#silence.start();
  }

  #unref(): void {
    this.#silence.stop();
    this.#keepAlive("unref");
    refChannel(this.#process, "unref");
  }

  /** A process that could not be started has nothing to keep: on Deno these functions throw then. */
  #keepAlive(what: "ref" | "unref"): void {
    if (this.#process.pid !== undefined) this.#process[what]();
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

  /** The outcome of its PINs stays unknown. */
  #loseTries(): void {
    for (const attempt of this.#tries.values()) attempt.done("lost");
    this.#tries.clear();
  }
}

/** On Bun a channel has no such functions, and those of the process do this too. */
function refChannel({ channel }: ChildProcess, what: "ref" | "unref"): void {
  const { [what]: change }: Partial<NonNullable<ChildProcess["channel"]>> = channel ?? {};
  change?.call(channel);
}

/**
 * Loaders, inspectors and coverage belong to the application. All other variables are passed on, since the module has
 * settings there.
 */
function childEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...environment, NODE_OPTIONS: undefined, NODE_V8_COVERAGE: undefined };
}

function notSent(cause: Error): SignerError {
  return new SignerError("unavailable", "the child process that holds the module could not be reached", { cause });
}

function gone(reason: string): SignerError {
  return new SignerError("unavailable", `the child process that holds the module ended: ${reason}`);
}
