import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { createJob, JobQueue } from "../src/pool/job-queue.ts";

describe("the queue for sessions", () => {
  test("hands jobs out in the order in which they came", () => {
    const queue = new JobQueue();
    const jobs = [1, 2, 3].map((value) => createJob(async () => value).job);
    for (const job of jobs) queue.add(job);
    expect([queue.next(), queue.next(), queue.next(), queue.next()]).toEqual([...jobs, undefined]);
  });

  test("drops a job when its caller aborts, anywhere in the queue", async () => {
    const queue = new JobQueue();
    const aborts = [1, 2, 3].map(() => new AbortController());
    const created = aborts.map(({ signal }) => createJob(async () => 0, { signal }));
    for (const { job } of created) queue.add(job);
    aborts[1]?.abort();
    expect(queue.size).toBe(2);
    await expect(created[1]?.result).rejects.toMatchObject({ code: "aborted" });
    expect([queue.next(), queue.next()]).toEqual([created[0]?.job, created[2]?.job]);
  });

  test("takes no job whose caller has already gone", async () => {
    const queue = new JobQueue();
    const { job, result } = createJob(async () => 0, { signal: AbortSignal.abort() });
    queue.add(job);
    expect(queue.size).toBe(0);
    await expect(result).rejects.toMatchObject({ code: "aborted" });
  });

  test("puts one listener on a signal that many jobs share, and takes it off", async () => {
    const queue = new JobQueue();
    const leaving = new AbortController();
    const { signal } = leaving;
    const results = Array.from({ length: 50 }, () => {
      const { job, result } = createJob(async () => 0, { signal });
      queue.add(job);
      return result.catch((error: unknown) => error);
    });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    queue.next()?.reject("failed");
    leaving.abort();
    const [first, ...others] = await Promise.all(results);
    expect(first).toBe("failed");
    for (const error of others) expect(error).toMatchObject({ code: "aborted" });
    expect(queue.size).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("rejects all, and is then empty", async () => {
    const queue = new JobQueue();
    const results = [1, 2].map(() => {
      const { job, result } = createJob(async () => 0);
      queue.add(job);
      return result.catch((error: unknown) => error);
    });
    queue.rejectAll("closed");
    expect(await Promise.all(results)).toEqual(["closed", "closed"]);
    expect(queue.size).toBe(0);
  });
});
