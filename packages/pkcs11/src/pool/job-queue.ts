import type { SignOptions } from "@signpost/core";
import { ArrivalQueue, endedError, onCallEnd } from "@signpost/core/adapter";
import type { PooledSession } from "./session.ts";

/** Work that waits for a session or runs in one. */
export interface Job {
  /** The caller was released. Later results are dropped. */
  readonly settled: boolean;
  /** Calls back when the caller is released. One listener at a time. */
  onSettled(listener: () => void): void;
  /** Whether a session that is at work for another job can take this one too. */
  joins(session: PooledSession): boolean;
  /** Does the work and resolves the caller's promise. Rejects if the work failed, while the caller keeps waiting. */
  run(session: PooledSession): Promise<void>;
  reject(error: unknown): void;
}

/** Jobs that wait for a session, in order of arrival. A job is dropped immediately when its caller has gone. */
export class JobQueue {
  readonly #jobs: ArrivalQueue<Job> = new ArrivalQueue();
  /** Jobs that had their turn and were not begun. */
  readonly #again: ArrivalQueue<Job> = new ArrivalQueue();

  get size(): number {
    return this.#again.size + this.#jobs.size;
  }

  add(job: Job): void {
    addTo(this.#jobs, job);
  }

  /** Puts a job that was taken before all that were not. */
  putBack(job: Job): void {
    addTo(this.#again, job);
  }

  /** Takes the next job. */
  next(): Job | undefined {
    return this.#again.next() ?? this.#jobs.next();
  }

  rejectAll(error: unknown): void {
    for (const job of [...this.#again, ...this.#jobs]) job.reject(error);
  }
}

function addTo(queue: ArrivalQueue<Job>, job: Job): void {
  if (job.settled) return;
  job.onSettled(queue.add(job));
}

/**
 * A job and its caller's promise. An aborted caller is released immediately. `joins`: see `Job`. Default: none takes it while
 * at work.
 */
export function createJob<Value>(
  work: (session: PooledSession) => Promise<Value>,
  call: SignOptions = {},
  joins: Job["joins"] = () => false,
): { readonly job: Job; readonly result: Promise<Value> } {
  const job = new CallersJob(work, call, joins);
  return { job, result: job.result };
}

class CallersJob<Value> implements Job {
  readonly result: Promise<Value>;
  readonly joins: Job["joins"];
  readonly #work: (session: PooledSession) => Promise<Value>;
  #letGo: () => void = () => {};
  #resolve: (value: Value) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #listener: (() => void) | undefined;
  #settled = false;

  constructor(work: (session: PooledSession) => Promise<Value>, call: SignOptions, joins: Job["joins"]) {
    this.#work = work;
    this.joins = joins;
    this.result = new Promise<Value>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#letGo = onCallEnd(call, (reason) => this.reject(endedError(reason)));
  }

  get settled(): boolean {
    return this.#settled;
  }

  onSettled(listener: () => void): void {
    this.#listener = listener;
  }

  async run(session: PooledSession): Promise<void> {
    const value = await this.#work(session);
    if (this.#settle()) this.#resolve(value);
  }

  reject(error: unknown): void {
    if (this.#settle()) this.#reject(error);
  }

  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#letGo();
    this.#listener?.();
    return true;
  }
}
