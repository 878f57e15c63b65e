import type { Job } from "./job.ts";

/** Jobs that wait for a session, in the order in which they came. One whose caller has gone is dropped at once. */
export class JobQueue {
  readonly #jobs: Set<Job> = new Set();

  get size(): number {
    return this.#jobs.size;
  }

  add(job: Job): void {
    if (job.settled) return;
    this.#jobs.add(job);
    job.onSettled(() => this.#jobs.delete(job));
  }

  /** Takes out the job whose turn it is. */
  next(): Job | undefined {
    const [job] = this.#jobs;
    if (job !== undefined) this.#jobs.delete(job);
    return job;
  }

  rejectAll(error: unknown): void {
    for (const job of this.#jobs) job.reject(error);
  }
}
