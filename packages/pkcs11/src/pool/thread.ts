import { Worker } from "node:worker_threads";
import { HungCallError } from "../wire/hung-call.ts";
import { CommandError } from "../wire/command-error.ts";
import type {
  CommandInput,
  CommandName,
  CommandOutput,
  CommandRequest,
  CommandAnswer,
  Shutdown,
  ThreadData,
} from "../wire/commands.ts";
import { compiledFile } from "../wire/compiled-file.ts";
import { openMailbox } from "../wire/mailbox.ts";
import { HangWatch } from "./hang-watch.ts";
import { Outbox } from "./outbox.ts";
import { PendingCommands } from "./pending-commands.ts";

interface Waiting {
  readonly id: number;
  resolve: (output: unknown) => void;
  reject: (error: unknown) => void;
  watched: Watched | undefined;
  /** Its own timer, if it was sent behind another command. */
  timer: NodeJS.Timeout | undefined;
  /** It is a digest that the thread signs without a message. */
  isHandedOver: boolean;
  /** It was given up on. */
  late: boolean;
}

/** A limit for a command's time. */
interface Watched {
  readonly name: CommandName;
  readonly hangMs: number;
  readonly onHang: (returned: Promise<void>) => void;
}

/** The command was not begun, because an earlier one failed or hangs, or the thread is busy. It can run elsewhere. */
export class NotBegunError extends Error {}

/** What a thread tells its owner. */
export interface ThreadEvents {
  /** Whether a C_Sign slept. Only some are watched. */
  watchedSign(slept: boolean): void;
}

/** The caller's end of one worker thread. Commands run one at a time, in order. */
export class Thread {
  readonly #worker: Worker;
  readonly #done: Int32Array<SharedArrayBuffer> = new Int32Array(new SharedArrayBuffer(4));
  readonly #outbox: Outbox;
  readonly #waiting: PendingCommands<Waiting> = new PendingCommands();
  /** How many of them are handed over. */
  #handedOver = 0;
  readonly #watch = new HangWatch(() => this.#hangs());
  #onDrained: (() => void)[] = [];
  #nextId = 0;
  #abandoned = false;
  #ended: Error | undefined;

  constructor(events?: ThreadEvents) {
    const mailbox = openMailbox();
    this.#outbox = new Outbox(mailbox, {
      signed: (id, output) => this.#settle({ id, ok: true, output }),
      skipped: (id) => this.#refuse(id),
      watched: (slept) => events?.watchedSign(slept),
    });
    const workerData: ThreadData = { done: this.#done, mailbox: mailbox.memory };
    // Without this process's flags: loaders and inspectors belong to the application.
    this.#worker = new Worker(compiledFile("worker"), {
      workerData,
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: "" },
      name: "signpost-pkcs11",
    });
    this.#worker.unref();
    this.#worker.on("message", (response: CommandAnswer) => this.#settle(response));
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", () => this.#end(new Error("the PKCS#11 thread ended")));
  }

  /** Commands that have not returned. */
  get pending(): number {
    return this.#waiting.size;
  }

  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Whether it would take another digest while it signs. */
  get takesMore(): boolean {
    return this.#handedOver > 0 && this.#outbox.hasRoom;
  }

  run<Name extends CommandName>(
    name: Name,
    input: CommandInput<Name>,
    watched?: Watched,
  ): Promise<CommandOutput<Name>> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      const request: CommandRequest = { id: this.#nextId, name, input };
      this.#nextId = (this.#nextId + 1) % 2 ** 31;
      // The process may exit by itself only when no command is running.
      if (this.#waiting.size === 0 && !this.#abandoned) this.#worker.ref();
      const isFirst = this.#waiting.front === undefined;
      const waiting: Waiting = {
        id: request.id,
        resolve: (output) => resolve(output as CommandOutput<Name>),
        reject,
        watched,
        timer: undefined,
        isHandedOver: false,
        late: false,
      };
      this.#waiting.add(waiting);
      if (isFirst) this.#watch.begin(watched?.hangMs);
      this.#send(request, waiting);
      if (!isFirst && !waiting.isHandedOver) this.#watchBehind(waiting);
    });
  }

  /**
   * Runs a command that must return within `hangMs`. If it does not, the result rejects with `timeout`, and `onHang` gets a
   * promise that resolves when the command returns. Until then the thread is inside the module. The time of a digest that is
   * handed over behind others begins with its turn.
   */
  runWatched<Name extends CommandName>(
    name: Name,
    input: CommandInput<Name>,
    hangMs: number,
    onHang: (returned: Promise<void>) => void,
  ): Promise<CommandOutput<Name>> {
    return this.run(name, input, { name, hangMs, onHang });
  }

  /** How long the running command has run. Milliseconds, 0 if none runs. */
  get runningMs(): number {
    return this.#waiting.size === 0 ? 0 : this.#watch.sinceBegin();
  }

  /** Takes back the digests that are not begun. They reject with NotBegunError. Those that are signed resolve. */
  withdraw(): void {
    // The thread may be in a long call, and not have told about the ones before it.
    this.#outbox.read();
    for (const id of this.#outbox.withdraw()) this.#refuse(id);
  }

  /** Resolves once every earlier command has returned or was given up on. */
  async drained(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#abandoned)
      await new Promise<void>((resolve) => this.#onDrained.push(resolve));
  }

  /** Ends the thread once its running call has returned. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  /** At the exit of the process, when no answer can be read any more. Closes everything after the running call. */
  shutDown(finalize: boolean): void {
    this.#post({ shutdown: true, finalize });
  }

  /** Blocks until `shutDown` is done. Only at the exit of the process. */
  waitForShutDown(timeoutMs: number): void {
    Atomics.wait(this.#done, 0, 0, timeoutMs);
  }

  #send(request: CommandRequest, waiting: Waiting): void {
    const { id, name, input } = request;
    if (name !== "sign") return this.#post(request);
    if (this.#outbox.handOver({ id, ...(input as CommandInput<"sign">) })) {
      waiting.isHandedOver = true;
      this.#handedOver += 1;
      return;
    }
    // A message would come after the digests, and if one fails, the session is about to be replaced then.
    if (this.#handedOver > 0) this.#refuse(id);
    else this.#post(request);
  }

  #post(message: CommandRequest | Shutdown): void {
    this.#outbox.callAway();
    this.#worker.postMessage(message);
  }

  #hangs(): void {
    const hanging = this.#waiting.front;
    // Its answer may be there, and this thread was too busy to read it.
    this.#outbox.read();
    if (hanging !== undefined && hanging === this.#waiting.front) this.#giveUpOn(hanging);
  }

  /** It must return in time even if it is not its turn yet: closing does not wait for an opening that hangs. */
  #watchBehind(waiting: Waiting): void {
    if (waiting.watched === undefined) return;
    // After the event loop was busy, the answer may already be there. It is read before `giveUp`.
    const giveUp = (): void => {
      if (this.#waiting.has(waiting) && !waiting.late) this.#giveUpOn(waiting);
    };
    waiting.timer = setTimeout(() => setImmediate(giveUp), waiting.watched.hangMs);
  }

  #giveUpOn({ watched }: Waiting): void {
    if (watched === undefined) return;
    const { name, hangMs, onHang } = watched;
    onHang(this.#abandon(`the module has not returned from ${name} for ${hangMs} ms`));
  }

  /**
   * Gives up on the running commands. They reject now, with a promise of their later result. The thread is still inside the
   * module, and the returned promise resolves when it comes back. Until then it does not keep the process alive.
   */
  #abandon(message: string): Promise<void> {
    this.#worker.unref();
    this.withdraw();
    return new Promise((resolve) => {
      let left = this.#waiting.size;
      const settled = (): void => {
        left -= 1;
        if (left > 0) return;
        this.#abandoned = false;
        resolve();
      };
      for (const waiting of this.#waiting) {
        const { reject } = waiting;
        const late = new Promise<unknown>((onResult, onError) => {
          waiting.resolve = (output) => (settled(), onResult(output));
          waiting.reject = (error) => (settled(), onError(error));
        });
        late.catch(() => {});
        clearTimeout(waiting.timer);
        waiting.watched = undefined;
        waiting.late = true;
        reject(new HungCallError(message, late));
      }
      this.#abandoned = left > 0;
      if (left === 0) resolve();
      this.#becomeIdle();
    });
  }

  #settle(response: CommandAnswer): void {
    // Those after it first, so that they wait again before it is decided what becomes of the session.
    if (!response.ok) this.#outbox.failed(response.id);
    const waiting = this.#take(response.id);
    if (response.ok) waiting?.resolve(response.output);
    else waiting?.reject(new CommandError(response.failure));
  }

  #refuse(id: number): void {
    this.#take(id)?.reject(new NotBegunError());
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.take(id);
    if (waiting?.isHandedOver === true) this.#handedOver -= 1;
    if (this.#waiting.size === 0) this.#becomeIdle();
    clearTimeout(waiting?.timer);
    if (waiting?.late === false) this.#watchFront();
    return waiting;
  }

  #watchFront(): void {
    const { front } = this.#waiting;
    this.#watch.begin(front?.timer === undefined ? front?.watched?.hangMs : undefined);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#outbox.read();
    this.#outbox.end();
    const [first] = this.#waiting;
    for (const id of this.#outbox.withdraw()) if (id !== first?.id) this.#refuse(id);
    for (const waiting of this.#waiting) {
      clearTimeout(waiting.timer);
      waiting.reject(this.#ended);
    }
    this.#waiting.clear();
    this.#handedOver = 0;
    this.#watch.end();
    this.#becomeIdle();
  }

  #becomeIdle(): void {
    this.#worker.unref();
    const waiting = this.#onDrained;
    this.#onDrained = [];
    for (const resolve of waiting) resolve();
  }
}
