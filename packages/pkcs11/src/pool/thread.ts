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

interface Waiting {
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The caller's end of one worker thread. Commands run one at a time, in order. */
export class Thread {
  readonly #worker: Worker;
  readonly #done: Int32Array<SharedArrayBuffer> = new Int32Array(new SharedArrayBuffer(4));
  readonly #waiting: Map<number, Waiting> = new Map();
  #onDrained: (() => void)[] = [];
  #nextId = 0;
  #abandoned = false;
  #ended: Error | undefined;

  constructor() {
    const workerData: ThreadData = { done: this.#done };
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

  run<Name extends CommandName>(name: Name, input: CommandInput<Name>): Promise<CommandOutput<Name>> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      const request: CommandRequest = { id: this.#nextId++, name, input };
      // The process may exit by itself only when no command is running.
      if (this.#waiting.size === 0 && !this.#abandoned) this.#worker.ref();
      this.#waiting.set(request.id, { resolve: (output) => resolve(output as CommandOutput<Name>), reject });
      this.#worker.postMessage(request);
    });
  }

  /**
   * Runs a command that must return within `hangMs`. If it does not, the result rejects with `timeout`, and `onHang` gets a
   * promise that resolves when the command returns. Until then the thread is inside the module.
   */
  async runWatched<Name extends CommandName>(
    name: Name,
    input: CommandInput<Name>,
    hangMs: number,
    onHang: (returned: Promise<void>) => void,
  ): Promise<CommandOutput<Name>> {
    const timer = setTimeout(() => {
      onHang(this.#abandon(`the module has not returned from ${name} for ${hangMs} ms`));
    }, hangMs);
    try {
      return await this.run(name, input);
    } finally {
      clearTimeout(timer);
    }
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
    const message: Shutdown = { shutdown: true, finalize };
    this.#worker.postMessage(message);
  }

  /** Blocks until `shutDown` is done. Only at the exit of the process. */
  waitForShutDown(timeoutMs: number): void {
    Atomics.wait(this.#done, 0, 0, timeoutMs);
  }

  /**
   * Gives up on the running commands. They reject now, with a promise of their later result. The thread is still inside the
   * module, and the returned promise resolves when it comes back. Until then it does not keep the process alive.
   */
  #abandon(message: string): Promise<void> {
    this.#worker.unref();
    return new Promise((resolve) => {
      let left = this.#waiting.size;
      const settled = (): void => {
        left -= 1;
        if (left > 0) return;
        this.#abandoned = false;
        resolve();
      };
      for (const [id, waiting] of this.#waiting) {
        const late = new Promise<unknown>((onResult, onError) => {
          this.#waiting.set(id, {
            resolve: (output) => (settled(), onResult(output)),
            reject: (error) => (settled(), onError(error)),
          });
        });
        late.catch(() => {});
        waiting.reject(new HungCallError(message, late));
      }
      this.#abandoned = left > 0;
      if (left === 0) resolve();
      this.#becomeIdle();
    });
  }

  #settle(response: CommandAnswer): void {
    const waiting = this.#waiting.get(response.id);
    this.#waiting.delete(response.id);
    if (this.#waiting.size === 0) this.#becomeIdle();
    if (response.ok) waiting?.resolve(response.output);
    else waiting?.reject(new CommandError(response.failure));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const waiting of this.#waiting.values()) waiting.reject(this.#ended);
    this.#waiting.clear();
    this.#becomeIdle();
  }

  #becomeIdle(): void {
    this.#worker.unref();
    const waiting = this.#onDrained;
    this.#onDrained = [];
    for (const resolve of waiting) resolve();
  }
}
